import { assign, createActor, fromPromise, setup, toPromise } from "xstate"

const keep = assign({ text: ({ event }) => event.output })
const input = ({ context }) => context.text
const machine = setup({
  actors: {
    upper: fromPromise(async ({ input }) => input.toUpperCase()),
    shout: fromPromise(async ({ input }) => `${input}!`),
  },
}).createMachine({
  context: ({ input }) => ({ text: input }),
  initial: "upper",
  states: {
    upper: { invoke: { src: "upper", input, onDone: { target: "shout", actions: keep } } },
    shout: { invoke: { src: "shout", input, onDone: { target: "done", actions: keep } } },
    done: { type: "final" },
  },
  output: ({ context }) => context.text,
})

const actor = createActor(machine, { input: "hello world" })
const output = toPromise(actor)
actor.start()
if ((await output) !== "HELLO WORLD!") process.exitCode = 1
