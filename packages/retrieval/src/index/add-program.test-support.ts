/** Adds a file to an index, says on stdout when something is written, and stands still after so many lines to be killed. */
import { documentIndex } from "./document-index.ts"

const [file = "", root = "", path = "", lines = ""] = process.argv.slice(2)
const index = documentIndex(file, { root, embeddings: { name: "slow", dimensions: 8, embed: vectors } })
let told = 0
await index.add([path], {
  onProgress({ chunks }) {
    // To a pipe this is done before it returns.
    process.stdout.write(`${chunks}\n`)
    told += 1
    if (told === Number(lines)) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)
  },
})

async function vectors(texts: readonly string[]): Promise<number[][]> {
  return texts.map((text) => Array.from({ length: 8 }, (_, i) => text.charCodeAt(i % text.length) - 100))
}
