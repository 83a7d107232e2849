/** Remembers facts that other processes remember too, forgets some, and prints how often the memory was full. */
import { isSuperstepError } from "@superstep/engine"
import { memoryIndex } from "./memory-index.ts"

const [folder = "", name = ""] = process.argv.slice(2)
const memories = memoryIndex(folder, { embeddings: false }).of("ada")
let full = 0
for (let i = 0; i < 20; i++) {
  try {
    const { id } = await memories.remember({ id: `${name}-${i}`, text: `Fact ${i}.` }, { max: 15 })
    if (i === 3) await memories.forget(id)
  } catch (error) {
    if (!isSuperstepError(error, "MEMORY_FULL")) throw error
    full += 1
  }
}
process.stdout.write(String(full))
