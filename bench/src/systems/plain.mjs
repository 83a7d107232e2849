// The limit: the same work as plain async functions, with no engine at all.
import { checksum, expectEvents, itemList, personsAnswer } from "../answers.mjs"
import { makeGate } from "../gate.mjs"

function increments(count) {
  return Array.from({ length: count }, () => async (value) => value + 1)
}

export function chain(steps) {
  const nodes = increments(steps)
  return async () => {
    let value = 0
    for (const node of nodes) value = await node(value)
    return value
  }
}

export function loop(passes) {
  const [first, second] = increments(2)
  return async () => {
    let value = 0
    while (value < 2 * passes) value = await second(await first(value))
    return value
  }
}

export function fanOut(items) {
  const source = async (count) => itemList(count)
  const worker = async (item) => item + 1
  const gather = async (list) => checksum(list)
  return async () => gather(await Promise.all((await source(items)).map(worker)))
}

export function nested(levels) {
  const caller = async (left) => (left === 0 ? 0 : (await caller(left - 1)) + 1)
  return () => caller(levels)
}

export function stream(steps) {
  const nodes = increments(steps)
  async function* events() {
    let value = 0
    for (const node of nodes) {
      value = await node(value)
      yield { type: "step", value }
    }
  }
  return async () => {
    let count = 0
    let last
    for await (const event of events()) {
      count += 1
      last = event.value
    }
    expectEvents(count, steps)
    return last
  }
}

export async function pending(items) {
  const gate = makeGate(items)
  const worker = async (item) => {
    await gate.wait()
    return item + 1
  }
  const gathered = Promise.all(itemList(items).map(worker))
  await gate.full
  return {
    async finish() {
      gate.open()
      return checksum(await gathered)
    },
  }
}

export async function idle(runs) {
  const answerers = []
  const run = async (value) => value + (await new Promise((resolve) => answerers.push(resolve)))
  const results = itemList(runs).map(() => run(1))
  return {
    async finish() {
      for (const answer of answerers) answer(personsAnswer)
      return (await Promise.all(results)).reduce((sum, value) => sum + value, 0)
    },
  }
}
