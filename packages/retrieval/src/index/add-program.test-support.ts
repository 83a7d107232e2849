/** Adds a file to an index, prints a line for each write, and blocks after a number of lines so that the test can kill it. */
import { documentIndex } from "./document-index.ts"

const [file = "", root = "", path = "", lines = ""] = process.argv.slice(2)
const index = documentIndex(file, { root, embeddings: { name: "slow", dimensions: 8, embed: vectors } })
let reports = 0
await index.add([path], {
  onProgress({ chunks }) {
    // Writes to a pipe are synchronous.
    process.stdout.write(`${chunks}\n`)
    reports += 1
    if (reports === Number(lines)) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)
  },
})

async function vectors(texts: readonly string[]): Promise<number[][]> {
  return texts.map((text) => Array.from({ length: 8 }, (_, i) => text.charCodeAt(i % text.length) - 100))
}
