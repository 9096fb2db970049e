(() => {
  "use strict";
  const one = (selector, within = document) => within.querySelector(selector);
  const all = (selector, within = document) => [...within.querySelectorAll(selector)];
  const json = id => { const found = document.getElementById(id); return found && JSON.parse(found.textContent); };
  const make = (name, content, kind) => {
    const made = document.createElement(name);
    if (content !== undefined) made.textContent = content;
    if (kind) made.className = kind;
    return made;
  };
  const facts = (list, pairs) => list.replaceChildren(...pairs.map(([name, value]) => {
    const box = make("div");
    box.append(make("dt", name), make("dd", value));
    return box;
  }));
  const short = value => !Number.isFinite(value) ? "–" : Number.isInteger(value) && Math.abs(value) < 1e6
    ? value.toLocaleString("en") : String(+value.toPrecision(3)).replace("-", "−");
  const root = document.documentElement;
  root.classList.add("scripted");

  // Light and dark.
  one("#theme").addEventListener("click", () => {
    const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    root.dataset.theme = dark ? "light" : "dark";
  });

  // Tabs.
  const tabs = all("[role=tab]");
  const show = (tab, focus) => {
    for (const other of tabs) {
      const chosen = other === tab;
      other.setAttribute("aria-selected", chosen);
      other.tabIndex = chosen ? 0 : -1;
      document.getElementById(other.getAttribute("aria-controls")).classList.toggle("on", chosen);
    }
    if (focus) tab.focus();
    const bar = one("nav"), left = tab.offsetLeft - bar.offsetLeft;
    if (left < bar.scrollLeft || left + tab.offsetWidth > bar.scrollLeft + bar.clientWidth) bar.scrollLeft = left - 40;
    if (tab.id === "tab-trees") fitTree();
  };
  for (const [k, tab] of tabs.entries()) {
    tab.addEventListener("click", () => {
      show(tab);
      try { history.replaceState(null, "", tab.id.replace("tab-", "#")); } catch { /* inside a notebook */ }
    });
    tab.addEventListener("keydown", event => {
      const to = { ArrowRight: k + 1, ArrowLeft: k - 1, Home: 0, End: tabs.length - 1 }[event.key];
      if (to === undefined) return;
      event.preventDefault();
      show(tabs[(to + tabs.length) % tabs.length], true);
    });
  }

  // Tables that are sorted by a click on a heading.
  const plain = cell => {
    const content = (cell.firstChild && cell.firstChild.nodeType === 3 ? cell.firstChild : cell).textContent;
    const value = parseFloat(content.replaceAll(",", "").replace("−", "-").replace("< ", ""));
    return cell.classList.contains("n") ? (Number.isNaN(value) ? -Infinity : value) : content;
  };
  for (const table of all("table.sortable")) {
    for (const [k, head] of all("th", table.tHead).entries()) {
      head.tabIndex = 0;
      const sort = () => {
        const down = head.getAttribute("aria-sort") !== "descending";
        all("th", table.tHead).forEach(other => other.removeAttribute("aria-sort"));
        head.setAttribute("aria-sort", down ? "descending" : "ascending");
        const rows = [...table.tBodies[0].rows].map(row => [plain(row.cells[k]), row]);
        rows.sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0) * (down ? -1 : 1));
        table.tBodies[0].append(...rows.map(([, row]) => row));
      };
      head.addEventListener("click", sort);
      head.addEventListener("keydown", event => { if (event.key === "Enter") sort(); });
    }
  }

  // Figures can be saved as SVG, tables as CSV.
  const offer = (place, kind, name, content) => {
    const button = make("button", "↓ " + kind, "save"), type = { SVG: "image/svg+xml", CSV: "text/csv" }[kind];
    button.type = "button";
    button.setAttribute("aria-label", `save ${name || "this"} as ${kind}`);
    button.addEventListener("click", () => {
      const link = make("a"), stem = name.toLowerCase().replace(/[^a-z0-9]+/g, "-").slice(0, 40).replace(/^-|-$/g, "");
      link.href = URL.createObjectURL(new Blob([content()], { type: type + ";charset=utf-8" }));
      link.download = `${stem || "report"}.${kind.toLowerCase()}`;
      link.click();
      setTimeout(() => URL.revokeObjectURL(link.href), 1000);
    });
    place.append(" ", button);
  };
  // The style sheet is not in the file that is saved: what it says becomes attributes.
  const painted = ["fill", "stroke", "stroke-width", "stroke-dasharray", "stroke-linecap", "stroke-linejoin", "opacity", "display",
    "paint-order", "font-family", "font-size", "font-weight", "text-anchor"];
  const vector = svg => {
    const copy = svg.cloneNode(true), { x, y, width, height } = svg.viewBox.baseVal, from = [svg, ...all("*", svg)];
    [copy, ...all("*", copy)].forEach((element, k) => {
      const style = getComputedStyle(from[k]);
      for (const name of painted) element.setAttribute(name, style.getPropertyValue(name));
    });
    const paper = document.createElementNS("http://www.w3.org/2000/svg", "rect");
    Object.entries({ x, y, width, height, fill: getComputedStyle(root).getPropertyValue("--card") })
      .forEach(([name, value]) => paper.setAttribute(name, value));
    copy.prepend(paper);
    Object.entries({ width, height }).forEach(([name, value]) => copy.setAttribute(name, value));
    return new XMLSerializer().serializeToString(copy);
  };
  const cellText = cell => {
    const parts = [], walker = document.createTreeWalker(cell, NodeFilter.SHOW_TEXT);
    while (walker.nextNode()) parts.push(walker.currentNode.textContent.trim());
    const content = parts.filter(Boolean).join(" ");
    if (cell.classList.contains("n")) return content.replace(/(\d),(?=\d{3})/g, "$1").replaceAll("−", "-").replace(/^–$/, "");
    return /^[=+@\t-]/.test(content) ? "'" + content : content; // a spreadsheet would take it for a formula
  };
  const values = table => [...table.rows].map(row => [...row.cells]
    .map(cell => `"${cellText(cell).replaceAll('"', '""')}"`).join(",")).join("\r\n") + "\r\n";
  for (const chart of all("figure > svg.chart")) {
    const caption = one("figcaption", chart.parentElement);
    offer(caption, "SVG", caption.textContent.split(/[.:(]/)[0].trim(), () => vector(chart));
  }
  for (const table of all("table")) {
    const caption = table.caption || table.createCaption();
    offer(caption, "CSV", caption.textContent.trim() || one("h1").textContent, () => values(table));
  }

  // Threshold of the confusion matrix.
  const steps = json("threshold-data");
  if (steps) {
    const slider = one("#threshold"), cells = all("#confusion td");
    const move = () => {
      const [level, tp, fp, fn, tn, ...at] = steps[+slider.value], total = tp + fp + fn + tn;
      one("#threshold-value").textContent = short(level);
      [tn, fp, fn, tp].forEach((count, k) => {
        cells[k].className = (k % 3 ? "miss" : "hit") + " s" + Math.min(Math.floor(10 * count / total), 9);
        one("b", cells[k]).textContent = short(count);
        one("span", cells[k]).textContent = (100 * count / total).toFixed(1) + " %";
      });
      facts(one("#threshold-measures"), [["accuracy", (tp + tn) / total], ["precision", tp / (tp + fp)],
        ["recall", tp / (tp + fn)], ["specificity", tn / (tn + fp)], ["F1", 2 * tp / (2 * tp + fp + fn)]]
        .map(([name, value]) => [name, short(value)]));
      ["#roc", "#pr"].forEach((chart, k) => {
        const dot = one(chart + " .moving");
        if (dot) dot.setAttribute("d", `M${at[2 * k]} ${at[2 * k + 1]}h0`);
      });
    };
    slider.addEventListener("input", move);
    move();
  }

  // Trees: choose, zoom, fold, select a node, follow a row.
  const forest = json("tree-data");
  let fitTree = () => {};
  if (forest) {
    const boxes = all(".tree"), choice = one("#tree-choice"), follow = one("#follow");
    const folded = forest.trees.map(() => new Set());
    const current = () => +choice.value;
    const picture = () => one("svg.treepic", boxes[current()]);
    const zoom = (svg, factor) => {
      const natural = svg.viewBox.baseVal.width, width = parseFloat(svg.getAttribute("width"));
      svg.setAttribute("width", Math.round(Math.min(Math.max(width * factor, 160), natural * 3)));
    };
    const fit = svg => {
      const room = svg.parentElement.clientWidth - 4, natural = svg.viewBox.baseVal.width;
      if (room > 40) svg.setAttribute("width", Math.round(Math.min(natural, Math.max(room, natural * 0.45))));
      const root = one("[data-node='0'] rect", svg).getBoundingClientRect(), frame = svg.parentElement.getBoundingClientRect();
      svg.parentElement.scrollLeft += root.left + root.width / 2 - frame.left - frame.width / 2;
    };
    const fitted = new Set();
    fitTree = () => {
      const k = current();
      if (fitted.has(k)) return;
      fitted.add(k);
      if (forest.trees[k].d) { folded[k] = below(k, 2); redraw(k); }
      fit(picture());
    };
    const below = (k, depth) => {
      const { p } = forest.trees[k], deep = p.map(() => 0), found = new Set();
      p.forEach((parent, node) => { if (node) { deep[node] = deep[parent] + 1; if (deep[parent] >= depth) found.add(parent); } });
      return found;
    };
    // Moves the nodes that are left together, by the outlines of their subtrees (Reingold and Tilford).
    const arrange = (k, gone) => {
      const { p, x, y, b, w } = forest.trees[k], children = p.map(() => []), shift = p.map(() => 0);
      p.forEach((parent, node) => { if (node && !gone.has(node)) children[parent].push(node); });
      const outline = node => {
        const left = [], right = [], at = [];
        for (const child of children[node]) {
          const part = outline(child);
          let by = right.length ? -Infinity : 0;
          for (let d = 0; d < Math.min(right.length, part.left.length); d++) by = Math.max(by, right[d] - part.left[d] + 14);
          at.push(by);
          part.left.forEach((edge, d) => { if (d >= left.length) left.push(edge + by); });
          part.right.forEach((edge, d) => { right[d] = edge + by; });
        }
        const middle = at.length ? (at[0] + at.at(-1)) / 2 : 0;
        children[node].forEach((child, i) => { shift[child] = at[i] - middle; });
        return { left: [-w[node] / 2, ...left.map(edge => edge - middle)], right: [w[node] / 2, ...right.map(edge => edge - middle)] };
      };
      const { left, right } = outline(0), place = [12 - Math.min(...left)], svg = one("svg.treepic", boxes[k]);
      p.forEach((parent, node) => { if (node) place[node] = place[parent] + shift[node]; });
      for (const group of all("[data-node]", svg)) {
        const node = +group.dataset.node;
        group.setAttribute("transform", `translate(${Math.round(place[node] - x[node])} 0)`);
      }
      for (const edge of all("[data-edge]", svg)) {
        const node = +edge.dataset.edge, from = place[p[node]], to = place[node], top = b[p[node]], end = y[node] - 22;
        const bend = (top + end) / 2, label = one("text", edge);
        one("path", edge).setAttribute("d", `M${from} ${top}C${from} ${bend} ${to} ${bend} ${to} ${end}V${y[node]}`);
        if (label) label.setAttribute("x", to);
      }
      const box = svg.viewBox.baseVal, scale = parseFloat(svg.getAttribute("width")) / box.width;
      const shown = p.map((_, node) => node).filter(node => !gone.has(node));
      box.width = Math.max(place[0] + Math.max(...right) + 12, svg.dataset.legend || 0);
      box.height = Math.max(...shown.map(node => b[node])) + 20;
      svg.setAttribute("width", Math.round(box.width * scale));
    };
    const redraw = k => {
      const { p } = forest.trees[k], gone = new Set();
      p.forEach((parent, node) => { if (node && (folded[k].has(parent) || gone.has(parent))) gone.add(node); });
      for (const element of all("[data-node],[data-edge]", boxes[k])) {
        element.classList.toggle("gone", gone.has(+(element.dataset.node ?? element.dataset.edge)));
      }
      arrange(k, gone);
      for (const fold of all(".fold", boxes[k])) {
        fold.setAttribute("aria-expanded", !folded[k].has(+fold.parentElement.dataset.node));
      }
    };
    const toggle = (k, node) => {
      folded[k].has(node) ? folded[k].delete(node) : folded[k].add(node);
      redraw(k);
    };
    const select = (k, group) => {
      all(".selected", boxes[k]).forEach(other => other.classList.remove("selected"));
      group.classList.add("selected");
      const node = +group.dataset.node, panel = one("#node-panel"), lines = forest.trees[k].h[node].split("\n");
      panel.replaceChildren(make("h4", lines[0]), ...lines.slice(1).map(line => make("div", line)));
      const found = forest.trees[k].c[node];
      if (found) {
        const table = make("table"), head = table.createTHead().insertRow(), body = table.createTBody();
        table.createCaption().textContent = "Split candidates in the ledger";
        ["Split", "Score", "Gain"].forEach((name, i) => head.append(make("th", name, i ? "n" : "")));
        for (const [split, score, gain, chosen] of found) {
          const row = body.insertRow();
          row.append(make("td"), make("td", score, "n"), make("td", gain, "n"));
          row.cells[0].append(make(chosen ? "b" : "span", split + (chosen ? " (chosen)" : "")));
        }
        panel.append(table);
      }
    };
    const path = () => {
      const row = follow && follow.value !== "" ? forest.rows[+follow.value] : null, panel = one("#row-panel");
      boxes.forEach((box, k) => {
        const svg = one("svg.treepic", box), nodes = row ? new Set(row.p[k]) : new Set();
        svg.classList.toggle("following", !!row);
        if (row && row.p[k].some(node => folded[k].has(node))) {
          row.p[k].forEach(node => folded[k].delete(node));
          redraw(k);
        }
        for (const element of all("[data-node],[data-edge]", box)) {
          element.classList.toggle("path", nodes.has(+(element.dataset.node ?? element.dataset.edge)));
        }
      });
      panel.hidden = !row;
      if (!row) return;
      panel.replaceChildren(make("h4", row.l), make("div", row.o));
      if (row.c.length) {
        panel.append(make("p", `Contributions (SHAP) to the ${row.s}, on top of the mean ${row.b}:`, "faint"));
        const top = Math.max(...row.c.map(entry => Math.abs(entry[2])), 1e-12);
        for (const [name, value, size, shown] of row.c) {
          const line = make("div", undefined, "contribution"), bar = make("i", undefined, size < 0 ? "less" : "");
          bar.style.width = Math.max(100 * Math.abs(size) / top, 1) + "%";
          const cell = make("span");
          cell.append(bar);
          line.append(make("span", `${name} = ${value}`), cell, make("b", shown));
          panel.append(line);
        }
      }
    };
    boxes.forEach((box, k) => {
      const act = event => {
        const fold = event.target.closest(".fold"), group = event.target.closest("[data-node]");
        if (!group) return;
        if (event.type === "keydown") {
          if (event.key !== "Enter" && event.key !== " ") return;
          event.preventDefault();
        }
        fold ? toggle(k, +group.dataset.node) : select(k, group);
      };
      box.addEventListener("click", act);
      box.addEventListener("keydown", act);
      one(".canvas", box).addEventListener("wheel", event => {
        if (!event.ctrlKey) return;
        event.preventDefault();
        zoom(one("svg", box), event.deltaY < 0 ? 1.15 : 1 / 1.15);
      }, { passive: false });
    });
    choice.addEventListener("change", () => {
      boxes.forEach((box, k) => { box.hidden = k !== current(); });
      fitTree();
    });
    if (follow) follow.addEventListener("change", path);
    offer(one(".controls .buttons"), "SVG", "tree", () => vector(picture()));
    all("[data-zoom]").forEach(button => button.addEventListener("click", () => {
      const kind = button.dataset.zoom;
      kind === "fit" ? fit(picture()) : zoom(picture(), kind === "in" ? 1.25 : 0.8);
    }));
    all("[data-fold]").forEach(button => button.addEventListener("click", () => {
      const k = current();
      folded[k] = button.dataset.fold === "all" ? below(k, 1) : new Set();
      redraw(k);
      fit(picture());
    }));
  }

  // Replay of boosting.
  const frames = json("replay-data");
  if (frames) {
    const slider = one("#rounds"), play = one("#play");
    const regions = all("#regions .region"), points = all("#regions .point");
    const step = () => {
      const frame = frames[+slider.value];
      one("#round").textContent = frame.r;
      slider.setAttribute("aria-valuetext", "round " + frame.r);
      facts(one("#round-facts"), frame.f);
      regions.forEach((region, k) => region.setAttribute("d", frame.g[k]));
      points.forEach((point, k) => {
        point.setAttribute("r", (1.5 + 5.5 * parseInt(frame.s[k], 36) / 35).toFixed(1));
        point.classList.toggle("wrong", frame.w[k] === "1");
      });
      one("#margin-line").setAttribute("points", frame.m);
      const mark = one("#round-mark");
      if (mark) ["x1", "x2"].forEach(name => mark.setAttribute(name, frame.x));
    };
    let timer = 0;
    const stop = () => { clearInterval(timer); timer = 0; play.textContent = "Play"; play.setAttribute("aria-pressed", "false"); };
    slider.addEventListener("input", () => { stop(); step(); });
    play.addEventListener("click", () => {
      if (timer) return stop();
      if (+slider.value === frames.length - 1) slider.value = 0;
      play.textContent = "Pause";
      play.setAttribute("aria-pressed", "true");
      step();
      timer = setInterval(() => {
        slider.value = +slider.value + 1;
        step();
        if (+slider.value === frames.length - 1) stop();
      }, 250);
    });
  }

  addEventListener("beforeprint", () => all("details").forEach(one => { one.open = true; }));
  const wanted = tabs.find(tab => "#" + tab.id === location.hash.replace("#", "#tab-"));
  show(wanted || tabs[0]);
})();
