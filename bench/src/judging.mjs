// Holds what was measured against targets. One that this run did not measure is said to be so, never reached.
import { measuredCell } from "./report.mjs"
import { pairedRatio } from "./statistics.mjs"
import { shortNumber, textTable } from "./table.mjs"

/** Cost at one size against the cost at another. */
export function growth(section, system, from, to) {
  const small = measuredCell(section, system, from)
  const large = measuredCell(section, system, to)
  return small && large && pairedRatio(large.samples, small.samples)
}

/**
 * @param targets `{ name, atMost or atLeast, measure(sections), limit(sections) }`; `limit` gives the plain limit's
 *   own value, where it has one
 * @returns each target with its measured value, the limit's own value, and `reached`: true, false, or undefined when
 *   not measured
 */
export function judgeTargets(targets, sections) {
  return targets.map(({ name, atMost, atLeast, measure, limit }) => {
    const value = measure(sections)
    const reached =
      value === undefined ? undefined : atMost === undefined ? value >= atLeast : value <= atMost
    return { name, atMost, atLeast, value, plain: limit?.(sections), reached }
  })
}

/** The limit's column is there when some target has one. */
export function targetTable(judged, limitName = "plain") {
  const number = (value) => (value === undefined ? "" : shortNumber(value))
  const withLimit = judged.some(({ plain }) => plain !== undefined)
  const rows = judged.map(({ name, atMost, atLeast, value, plain, reached }) => [
    name,
    atMost === undefined ? `≥ ${shortNumber(atLeast)}` : `≤ ${shortNumber(atMost)}`,
    number(value),
    ...(withLimit ? [number(plain)] : []),
    reached === undefined ? "not measured" : reached ? "reached" : "not reached",
  ])
  return textTable(["target", "is", "measured", ...(withLimit ? [`${limitName}'s own`] : []), ""], rows)
}
