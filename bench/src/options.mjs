// What the benchmarks take on the command line.

/** A comma-separated list, in the order of `known`; all of them when the option is absent. */
export function listOption(value, known, what) {
  if (value === undefined) return known
  const names = value.split(",").map((name) => name.trim())
  const unknown = names.find((name) => !known.includes(name))
  if (unknown !== undefined)
    throw new Error(`There is no ${what} "${unknown}". There are: ${known.join(", ")}`)
  return known.filter((name) => names.includes(name))
}

export function positiveOption(value, what) {
  const number = Number(value)
  if (!(number > 0)) throw new Error(`${what} takes a number above 0, not "${value}"`)
  return number
}

/**
 * The systems to measure: those that are asked for and installed, and for a smoke run the limit and ours alone. What is
 * not installed is printed.
 * @returns `systems`, and `partial`: not all of them
 */
export function systemsOption({ systems: value, smoke }, known, missing) {
  const all = listOption(value, known, "system")
  const asked = smoke && value === undefined ? all.slice(0, 2) : all
  const systems = asked.filter((name) => missing(name) === undefined)
  for (const name of asked) if (!systems.includes(name)) console.log(`${name} is left out: ${missing(name)}.`)
  return { systems, partial: systems.length < known.length }
}
