// Rows of tables for the domains, the same in every run.

/** Numbers from 0 to 1 that look random (mulberry32). */
export function numbersFrom(seed) {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
}

export function cycle(list, i) {
  return list[i % list.length]
}

/** So many days, a few apart, as text. */
export function dates(first, count, apart) {
  const start = Date.parse(first)
  return Array.from({ length: count }, (_, i) =>
    new Date(start + i * apart * 86_400_000).toISOString().slice(0, 10),
  )
}

export function sqlRows(table, rows) {
  const value = (one) =>
    one === null ? "NULL" : typeof one === "number" ? one : `'${one.replaceAll("'", "''")}'`
  return `INSERT INTO ${table} VALUES ${rows.map((row) => `(${row.map(value).join(", ")})`).join(", ")};`
}

export function csvOf(header, rows) {
  const cell = (value) =>
    /[",\n]/.test(String(value)) ? `"${String(value).replaceAll('"', '""')}"` : String(value)
  return `${[header, ...rows].map((row) => row.map(cell).join(",")).join("\n")}\n`
}
