/** Results are matched with tool calls by id, and some models give the same one twice. */

/** The id, or another one where it is taken. Adds it to the taken ones. Only letters that every provider takes. */
export function freshId(wanted: string, taken: Set<string>): string {
  const base = wanted === "" ? "call" : wanted
  let id = base
  for (let n = 2; taken.has(id); n++) id = `${base}_${n}`
  taken.add(id)
  return id
}
