// What the right answers are. A system that gives another one is an error, not a fast time.

/** Order-sensitive, so that a gathered list in the wrong order is a wrong answer. */
export function checksum(list) {
  let sum = 7
  for (const value of list) sum = (Math.imul(sum, 31) + value) | 0
  return sum
}

/** The items that a fan-out hands to its workers. */
export function itemList(count) {
  return Array.from({ length: count }, (_, index) => index)
}

/** The checksum of the gathered list when every worker adds one. */
export function fanOutAnswer(items) {
  return checksum(itemList(items).map((item) => item + 1))
}

/** What a person answers to an idle run; the run adds it to its input, which is 1. */
export const personsAnswer = 41

export function expectAnswer(what, actual, expected) {
  if (actual !== expected) throw new Error(`${what}: expected ${expected}, got ${String(actual)}`)
}

/** A stream that leaves out steps would be a fast one. */
export function expectEvents(events, steps) {
  if (events < steps) throw new Error(`stream: expected at least ${steps} events, got ${events}`)
}
