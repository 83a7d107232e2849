// A new process that does what a family says, at one size; sends the CPU milliseconds of each row, which other work on the
// machine changes less than those of the clock.
import { answerParent } from "../child.mjs"
import { families } from "./rows.mjs"

const [first, size, rehearse] = [process.argv[2], Number(process.argv[3]), process.argv[4] === "true"]
const {
  rows,
  sizes,
  open,
  repeatable = false,
  scale = rows.map(() => () => 1),
} = families.find((family) => family.rows[0] === first)
/** Less than this cannot be distinguished from the grain of the clock. */
const enoughMs = rehearse && repeatable ? 100 : 0

function cpuMs(since) {
  const { user, system } = process.cpuUsage(since)
  return (user + system) / 1_000
}

// Others first, so that the code is compiled: what can be repeated at a middle size, what makes files at a small one.
const [began, rehearsalMs] = [process.cpuUsage(), rehearse ? 1_500 : 0]
const rehearsalSize = repeatable ? Math.min(1_000, sizes[2]) : Math.min(100, sizes[0])
for (let warm = 0; warm < (repeatable ? 200 : 20) && cpuMs(began) < rehearsalMs; warm++)
  for (const pass of await open(rehearsalSize)) await pass()

const passes = await open(size)
const costs = []
for (const [index, pass] of passes.entries()) {
  globalThis.gc()
  const before = process.cpuUsage()
  let times = 0
  do {
    await pass()
    times += 1
  } while (cpuMs(before) < enoughMs)
  costs.push((cpuMs(before) / times) * scale[index](size))
}
answerParent(costs)
