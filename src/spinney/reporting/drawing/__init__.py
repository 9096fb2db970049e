"""Drawing of report records: SVG charts, sections and the HTML page. Nothing is computed from data here."""
