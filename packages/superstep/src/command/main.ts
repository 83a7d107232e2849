#!/usr/bin/env node
/** The command `superstep`. */
import module from "node:module"

// Node 22 and later keep what they have compiled for the next time; the types are those of 20.
const { enableCompileCache } = module as { enableCompileCache?: () => void }
enableCompileCache?.()
const [{ main }, { processIo }] = await Promise.all([import("./dispatch.ts"), import("./io.ts")])

const argv = process.argv.slice(2)
// For those who draw by themselves, as prompts do.
if (argv.includes("--no-color")) process.env.NO_COLOR = "1"
const io = processIo()
const code = await main(argv, io)
// Whatever a user's module or a toolset left open must not keep the process; what is written must get out.
await Promise.all(
  [io.stdout, io.stderr].map((stream) => new Promise<void>((done) => stream.write("", () => done()))),
)
process.exit(code)
