// How many of the passages that answer are among the first ten, by words, by meaning (the offline model), and merged.
import { join } from "node:path"
import { documentIndex, offlineEmbeddings } from "@superstep/retrieval"
import { distractors, labelled } from "./labelled.mjs"

const modes = ["text", "vector", "merged"]

export async function measureRecall(folder, { others, answers }) {
  const asked = labelled.slice(0, answers)
  const embeddings = offlineEmbeddings()
  const index = documentIndex(join(folder, "recall.db"), { embeddings })
  try {
    const start = performance.now()
    const passages = asked.map(({ source, passage }) => ({ source, text: passage }))
    const { chunks } = await index.add([...passages, ...distractors(others)])
    const embedMs = (performance.now() - start) / chunks
    const rows = []
    for (const mode of modes) {
      for (const [kind, name] of ["in other words", "by a term"].entries()) {
        const ranks = []
        for (const { source, questions } of asked) {
          const found = await index.search(questions[kind], { mode, limit: 10 })
          ranks.push(found.findIndex((one) => one.source === source))
        }
        const share = (most) => ranks.filter((rank) => rank >= 0 && rank < most).length / ranks.length
        rows.push({ mode, questions: name, recallAt10: share(10), recallAt1: share(1) })
      }
    }
    return { passages: chunks, embedMs, rows }
  } finally {
    await index.close()
    await embeddings.close()
  }
}
