"""The watermelon tables of Zhou's textbook as text, small enough to stand beside the tests that use them."""

from __future__ import annotations

import csv
import io

WATERMELON3 = """\
编号,色泽,根蒂,敲声,纹理,脐部,触感,密度,含糖率,好瓜
1,青绿,蜷缩,浊响,清晰,凹陷,硬滑,0.697,0.460,是
2,乌黑,蜷缩,沉闷,清晰,凹陷,硬滑,0.774,0.376,是
3,乌黑,蜷缩,浊响,清晰,凹陷,硬滑,0.634,0.264,是
4,青绿,蜷缩,沉闷,清晰,凹陷,硬滑,0.608,0.318,是
5,浅白,蜷缩,浊响,清晰,凹陷,硬滑,0.556,0.215,是
6,青绿,稍蜷,浊响,清晰,稍凹,软粘,0.403,0.237,是
7,乌黑,稍蜷,浊响,稍糊,稍凹,软粘,0.481,0.149,是
8,乌黑,稍蜷,浊响,清晰,稍凹,硬滑,0.437,0.211,是
9,乌黑,稍蜷,沉闷,稍糊,稍凹,硬滑,0.666,0.091,否
10,青绿,硬挺,清脆,清晰,平坦,软粘,0.243,0.267,否
11,浅白,硬挺,清脆,模糊,平坦,硬滑,0.245,0.057,否
12,浅白,蜷缩,浊响,模糊,平坦,软粘,0.343,0.099,否
13,青绿,稍蜷,浊响,稍糊,凹陷,硬滑,0.639,0.161,否
14,浅白,稍蜷,沉闷,稍糊,凹陷,硬滑,0.657,0.198,否
15,乌黑,稍蜷,浊响,清晰,稍凹,软粘,0.360,0.370,否
16,浅白,蜷缩,浊响,模糊,平坦,硬滑,0.593,0.042,否
17,青绿,蜷缩,沉闷,稍糊,稍凹,硬滑,0.719,0.103,否
"""

WATERMELON2_MISSING = """\
编号,色泽,根蒂,敲声,纹理,脐部,触感,好瓜
1,,蜷缩,浊响,清晰,凹陷,硬滑,是
2,乌黑,蜷缩,沉闷,清晰,凹陷,,是
3,乌黑,蜷缩,,清晰,凹陷,硬滑,是
4,青绿,蜷缩,沉闷,清晰,凹陷,硬滑,是
5,,蜷缩,浊响,清晰,凹陷,硬滑,是
6,青绿,稍蜷,浊响,清晰,,软粘,是
7,乌黑,稍蜷,浊响,稍糊,稍凹,软粘,是
8,乌黑,稍蜷,浊响,,稍凹,硬滑,是
9,乌黑,,沉闷,稍糊,稍凹,硬滑,否
10,青绿,硬挺,清脆,,平坦,软粘,否
11,浅白,硬挺,清脆,模糊,平坦,,否
12,浅白,蜷缩,,模糊,平坦,软粘,否
13,,稍蜷,浊响,稍糊,凹陷,硬滑,否
14,浅白,稍蜷,沉闷,稍糊,凹陷,硬滑,否
15,乌黑,稍蜷,浊响,清晰,,软粘,否
16,浅白,蜷缩,浊响,模糊,平坦,硬滑,否
17,青绿,,沉闷,稍糊,稍凹,硬滑,否
"""


def coded(text: str) -> tuple[list[str], list[list[float | None]], list[str], list[list[str]], list[str]]:
    """Return (names, columns, kinds, categories, y) of a table; categories are numbered in sorted order."""
    header, *rows = csv.reader(io.StringIO(text))
    names, y = header[1:-1], [row[-1] for row in rows]
    columns: list[list[float | None]] = []
    kinds: list[str] = []
    categories: list[list[str]] = []
    for j in range(1, len(header) - 1):
        cells = [row[j] for row in rows]
        numeric = header[j] in ("密度", "含糖率")
        levels = [] if numeric else sorted({cell for cell in cells if cell})
        columns.append([float(c) if numeric else levels.index(c) if c else None for c in cells])
        kinds.append("numeric" if numeric else "categorical")
        categories.append(levels)
    return names, columns, kinds, categories, y
