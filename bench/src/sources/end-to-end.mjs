// The whole goal pipeline with a writer of SQL that is always right about the source that it is shown: it writes the known query
// for the right one, and nothing for another. What counts is what the assistant gets to see.
import { node, workflow } from "@superstep/engine"
import { runSequentialGoal } from "@superstep/engine/patterns"
import { schemaRetriever, sourceRanker } from "@superstep/retrieval"

/** An agent that answers by a function of its prompt. */
function agent(name, answer) {
  return workflow(name)
    .chain(node("answer", (prompt) => answer(prompt)))
    .build()
}

const triage = agent("triage", () => JSON.stringify({ intents: ["ai_search"], confidence: 1, rationale: "" }))
const reviewer = agent("reviewer", () => JSON.stringify({ decision: "accept" }))

/** The source of the question if the assistant gets the right rows or the right document, else "another answer". */
export async function answerEndToEnd(question, opened, embeddings) {
  const databases = [opened.database, opened.files]
  let prompt = ""
  const desk = agent("desk", (asked) => {
    prompt = asked
    return "done"
  })
  const isShown = { database: /\(PostgreSQL\)/, files: /\(DuckDB\)/ }[question.source]
  const writer = agent("sql", (asked) => (isShown?.test(asked) ? question.answer : "NONE"))
  const documents = opened.documents.embedded
  await runSequentialGoal(
    {
      triage,
      reviewer,
      assistants: [desk],
      ranker: sourceRanker({ databases, documents }, { embeddings, cache: opened.cache }),
      sql: { agent: writer, databases: schemaRetriever(databases) },
      vector: documents,
      maxReviewPasses: 0,
    },
    question.text,
  )
  return (await isAnswered(question, opened, prompt)) ? question.source : "another answer"
}

async function isAnswered({ source, answer }, opened, prompt) {
  if (source === "documents") return prompt.includes(answer)
  const { rows } = await opened[source].query(answer, { rows: 20 })
  if (rows.length === 0) throw new Error(`The known query gives no rows: ${answer}`)
  return rows.every((row) => prompt.includes(row.map(String).join(" | ")))
}
