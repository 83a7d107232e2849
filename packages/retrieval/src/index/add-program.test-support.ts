/** Adds a file to an index until it is killed: says on stdout when something is written. */
import { documentIndex } from "./document-index.ts"

const [file = "", root = "", path = ""] = process.argv.slice(2)
const index = documentIndex(file, { root, embeddings: { name: "slow", dimensions: 8, embed: vectors } })
await index.add([path], { onProgress: ({ chunks }) => void process.stdout.write(`${chunks}\n`) })

async function vectors(texts: readonly string[]): Promise<number[][]> {
  return texts.map((text) => Array.from({ length: 8 }, (_, i) => text.charCodeAt(i % text.length) - 100))
}
