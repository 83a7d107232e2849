// A new process: imports a system, builds its workflow, and times the first pass alone.
import { expectAnswer } from "./answers.mjs"
import { answerParent } from "./child.mjs"
import { coldMeasures } from "./measures.mjs"
import { loadSystem } from "./systems/index.mjs"

const [systemName, needs, size] = [process.argv[2], process.argv[3], Number(process.argv[4])]
const { expected } = coldMeasures.find((measure) => measure.needs === needs)
const system = await loadSystem(systemName)
const pass = await system[needs](size)
const start = performance.now()
const answer = await pass()
const elapsed = performance.now() - start
expectAnswer(systemName, answer, expected(size))
answerParent(elapsed)
