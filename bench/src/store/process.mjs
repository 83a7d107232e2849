// A new process that makes a store of many runs, or does one thing with it and sends how long that took.
import { expectAnswer } from "../answers.mjs"
import { answerParent } from "../child.mjs"
import { median } from "../statistics.mjs"

const [what, systemName, path, runs, keep] = process.argv.slice(2)
const system = await import(`./${systemName}.mjs`)
const count = Number(runs)
const looks = 50

/** The median of each query, in milliseconds; one that finds nothing or too much is an error. */
async function query() {
  const { queries, close } = await system.open(path, count)
  const found = { "text that no run has": 0, "a label of one run": 1, "text in one run's id": 1 }
  const times = {}
  for (const [name, ask] of Object.entries(queries)) {
    expectAnswer(`${systemName}: ${name}`, await ask(), found[name] ?? Math.min(20, expectedMany(name)))
    const samples = []
    for (let look = 0; look < looks; look++) {
      const start = performance.now()
      await ask()
      samples.push(performance.now() - start)
    }
    times[name] = median(samples)
  }
  await close()
  return times
}

function expectedMany(name) {
  return name === "the newest 20" ? count : Math.ceil((count - 7) / 100)
}

const work = {
  finished: () => system.finished(path, count),
  running: () => system.running(path, count),
  recover: () => system.recover(path, count),
  prune: () => system.prune(path, count, Number(keep)),
  query,
}
const answer = (await work[what]()) ?? "made"
// Interrupted runs are those of a process that was killed.
if (what === "running") process.send(answer, () => process.kill(process.pid, "SIGKILL"))
else answerParent(answer)
