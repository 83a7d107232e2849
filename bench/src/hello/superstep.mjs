import { node, workflow } from "superstep"

const upper = node("upper", (text) => text.toUpperCase())
const shout = node("shout", (text) => `${text}!`)

const { outputs } = await workflow("hello").chain(upper, shout).build().run("hello world")
if (outputs[0] !== "HELLO WORLD!") process.exitCode = 1
