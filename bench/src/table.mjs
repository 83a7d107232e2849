// Text tables and numbers for people.

/** Columns as wide as their widest cell; the first is left-aligned, the rest right-aligned. */
export function textTable(header, rows) {
  const lines = [header, ...rows]
  const widths = header.map((_, column) => Math.max(...lines.map((line) => line[column].length)))
  const render = (line) =>
    line
      .map((cell, column) => (column === 0 ? cell.padEnd(widths[column]) : cell.padStart(widths[column])))
      .join("  ")
      .trimEnd()
  return [render(header), widths.map((width) => "-".repeat(width)).join("  "), ...rows.map(render)].join("\n")
}

/** Three significant digits, thousands grouped. */
export function shortNumber(value) {
  const digits = Math.max(0, 2 - Math.floor(Math.log10(Math.abs(value) || 1)))
  const rounded = digits === 0 ? Math.round(value) : Number(value.toFixed(digits))
  return rounded.toLocaleString("en-US", { maximumFractionDigits: digits })
}

/** A cost with its unit, moved to the unit in which it reads best. */
export function costText(value, unit) {
  const larger = {
    µs: ["ms", 1_000],
    ms: ["s", 1_000],
    B: ["kB", 1_000],
    kB: ["MB", 1_000],
    MB: ["GB", 1_000],
  }[unit]
  if (larger !== undefined && value >= larger[1]) return costText(value / larger[1], larger[0])
  return `${shortNumber(value)} ${unit}`
}

export function ratioText(ratio) {
  return ratio === undefined ? "" : `${shortNumber(ratio)}×`
}
