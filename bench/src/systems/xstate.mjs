// XState: a state per node that invokes a promise actor; a spawned child per item for fan-out.
import { assign, createActor, fromPromise, setup, toPromise } from "xstate"
import { checksum, expectEvents, itemList, personsAnswer } from "../answers.mjs"
import { makeGate } from "../gate.mjs"

const increment = fromPromise(async ({ input }) => input + 1)
const keepValue = assign({ value: ({ event }) => event.output })

function machineOf(states) {
  return setup({ actors: { increment }, actions: { keepValue } }).createMachine({
    context: ({ input }) => ({ value: input }),
    initial: "n0",
    states,
    output: ({ context }) => context.value,
  })
}

function invoking(onDone) {
  return { invoke: { src: "increment", input: ({ context }) => context.value, onDone } }
}

function chainMachine(steps) {
  const states = {}
  for (let index = 0; index < steps; index++) {
    states[`n${index}`] = invoking({ target: `n${index + 1}`, actions: "keepValue" })
  }
  states[`n${steps}`] = { type: "final" }
  return machineOf(states)
}

function pass(machine, input) {
  return () => {
    const actor = createActor(machine, { input })
    const output = toPromise(actor)
    actor.start()
    return output
  }
}

export function chain(steps) {
  return pass(chainMachine(steps), 0)
}

export function loop(passes) {
  const machine = machineOf({
    n0: invoking({ target: "n1", actions: "keepValue" }),
    n1: invoking([
      { guard: ({ event }) => event.output >= 2 * passes, target: "done", actions: "keepValue" },
      { target: "n0", actions: "keepValue" },
    ]),
    done: { type: "final" },
  })
  return pass(machine, 0)
}

function fanOutMachine(worker) {
  const gathered = assign({
    list: ({ context, event }) => {
      // In place: a new list at each result would be quadratic by our own doing.
      context.list[Number(event.actorId)] = event.output
      return context.list
    },
    open: ({ context }) => context.open - 1,
  })
  return setup({ actors: { worker }, actions: { gathered } }).createMachine({
    context: ({ input, spawn }) => {
      for (const item of itemList(input)) spawn("worker", { id: String(item), input: item })
      return { list: new Array(input), open: input }
    },
    initial: "working",
    states: {
      working: {
        on: {
          "xstate.done.actor.*": [
            { guard: ({ context }) => context.open === 1, target: "done", actions: "gathered" },
            { actions: "gathered" },
          ],
        },
      },
      done: { type: "final" },
    },
    output: ({ context }) => checksum(context.list),
  })
}

export function fanOut(items) {
  return pass(fanOutMachine(increment), items)
}

/** XState has no event stream: a subscriber sees every snapshot. */
export function stream(steps) {
  const machine = chainMachine(steps)
  return async () => {
    let snapshots = 0
    const actor = createActor(machine, { input: 0 })
    actor.subscribe(() => {
      snapshots += 1
    })
    const output = toPromise(actor)
    actor.start()
    const answer = await output
    expectEvents(snapshots, steps)
    return answer
  }
}

export async function pending(items) {
  const gate = makeGate(items)
  const worker = fromPromise(async ({ input }) => {
    await gate.wait()
    return input + 1
  })
  const output = pass(fanOutMachine(worker), items)()
  await gate.full
  return {
    finish() {
      gate.open()
      return output
    },
  }
}

export async function idle(runs) {
  const machine = setup({
    actions: { add: assign({ value: ({ context, event }) => context.value + event.value }) },
  }).createMachine({
    context: ({ input }) => ({ value: input }),
    initial: "asking",
    states: {
      asking: { on: { answer: { target: "done", actions: "add" } } },
      done: { type: "final" },
    },
    output: ({ context }) => context.value,
  })
  const actors = itemList(runs).map(() => createActor(machine, { input: 1 }).start())
  return {
    async finish() {
      let sum = 0
      for (const actor of actors) {
        actor.send({ type: "answer", value: personsAnswer })
        sum += actor.getSnapshot().output
      }
      return sum
    },
  }
}
