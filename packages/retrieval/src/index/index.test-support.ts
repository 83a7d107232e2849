/** Folders, files and embeddings for tests. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { onTestFinished } from "vitest"
import { type DocumentIndex, type DocumentIndexOptions, documentIndex } from "./document-index.ts"
import type { Embeddings } from "./embeddings/embeddings.ts"

/** A folder that is removed after the test. */
export function freshFolder(files: Readonly<Record<string, string | Uint8Array>> = {}): string {
  const folder = mkdtempSync(join(tmpdir(), "superstep-index-"))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  put(folder, files)
  return folder
}

export function put(folder: string, files: Readonly<Record<string, string | Uint8Array>>): void {
  for (const [name, contents] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true })
    writeFileSync(join(folder, name), contents)
  }
}

/** An index in the folder, closed after the test. */
export function openIndex(folder: string, options: DocumentIndexOptions = {}): DocumentIndex {
  const index = documentIndex(join(folder, ".superstep", "index.db"), { root: folder, ...options })
  onTestFinished(() => index.close())
  return index
}

/** Synonyms share a dimension of the vector, so paraphrases are near without a common word. */
const MEANINGS = [
  "cat kitten feline pet",
  "car automobile vehicle engine",
  "sea ocean water wave",
  "money cash price cost",
]

export interface TestEmbeddings extends Embeddings {
  /** The number of texts so far. */
  readonly embedded: number
}

export function meaningEmbeddings(name = "test/meanings"): TestEmbeddings {
  let embedded = 0
  return {
    name,
    dimensions: 16,
    get embedded() {
      return embedded
    },
    async embed(texts) {
      embedded += texts.length
      return texts.map((text) => {
        const vector = new Float32Array(16)
        for (const word of text.toLowerCase().match(/[a-z]+/g) ?? []) {
          const at = MEANINGS.findIndex((words) => words.split(" ").includes(word))
          if (at >= 0) vector[at] = (vector[at] as number) + 1
        }
        vector[15] = 0.1
        return vector
      })
    },
  }
}

/** A PDF with a page for each text; an empty text is a page without text. */
export function pdf(pages: readonly string[], properties?: string): Uint8Array {
  const objects: string[] = ["<< /Type /Catalog /Pages 2 0 R >>"]
  const kids = pages.map((_, i) => `${4 + 2 * i} 0 R`).join(" ")
  objects.push(`<< /Type /Pages /Kids [${kids}] /Count ${pages.length} >>`)
  objects.push("<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>")
  for (const [i, text] of pages.entries()) {
    const stream = text === "" ? "" : `BT /F1 12 Tf 50 700 Td (${text}) Tj ET`
    const resources = "/Resources << /Font << /F1 3 0 R >> >> /MediaBox [0 0 600 800]"
    objects.push(`<< /Type /Page /Parent 2 0 R ${resources} /Contents ${5 + 2 * i} 0 R >>`)
    objects.push(`<< /Length ${stream.length} >>\nstream\n${stream}\nendstream`)
  }
  if (properties !== undefined) objects.push(`<< ${properties} >>`)
  const info = properties === undefined ? "" : ` /Info ${objects.length} 0 R`
  let text = "%PDF-1.4\n"
  const offsets = objects.map((object, i) => {
    const at = text.length
    text += `${i + 1} 0 obj\n${object}\nendobj\n`
    return at
  })
  const rows = offsets.map((at) => `${String(at).padStart(10, "0")} 00000 n \n`).join("")
  const table = `xref\n0 ${objects.length + 1}\n0000000000 65535 f \n${rows}`
  const end = `trailer\n<< /Size ${objects.length + 1} /Root 1 0 R${info} >>\nstartxref\n${text.length}\n%%EOF\n`
  return Buffer.from(text + table + end, "latin1")
}
