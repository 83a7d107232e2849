// A new process that does what a row says, at one size; sends the CPU milliseconds, which other work on the machine changes
// less than those of the clock.
import { answerParent } from "../child.mjs"
import { rows } from "./rows.mjs"

const [name, size, rehearse] = [process.argv[2], Number(process.argv[3]), process.argv[4] === "true"]
const { open, sizes, scale = () => 1 } = rows[name]
// Small ones first, so that the code is compiled.
const enough = performance.now() + (rehearse ? 1_000 : 0)
for (let warm = 0; warm < 20 && performance.now() < enough; warm++)
  await (await open(Math.min(100, sizes[0])))()
const pass = await open(size)
globalThis.gc()
const before = process.cpuUsage()
await pass()
const { user, system } = process.cpuUsage(before)
answerParent(((user + system) / 1_000) * scale(size))
