/** A goal pipeline over real data: PostgreSQL, CSV files, documents and a graph answer labelled questions, offline. */
import { mkdtempSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { documentIndex, goalBackends } from "@superstep/retrieval"
import { type GoalBasis, goalWorkflow, loadGoalConfig } from "superstep/patterns"
import { parse } from "yaml"
import { companyGraph } from "./company-graph.ts"
import { startShop } from "./shop.ts"

const folder = import.meta.dirname

type Source = "postgres" | "csv" | "documents" | "graph" | "none"

interface Question {
  readonly source: Source
  readonly contains: string
  readonly question: string
  /** The known failure. */
  readonly fails?: "source" | "answer" | undefined
}

export interface Asked extends Question {
  readonly chosen: Source
  readonly answer: string
  readonly went: "right" | "wrong source" | "wrong answer"
}

export interface RunOptions {
  /** Files of questions in this folder. */
  readonly files?: readonly string[] | undefined
  /** A folder with @ladybugdb/core installed. */
  readonly packagesOf?: string | undefined
  readonly onStart?: ((graphKept: string) => void) | undefined
  readonly onAsked?: ((asked: Asked) => void) | undefined
}

export const SETS = ["questions.yaml", "free-questions.yaml"] as const

/** Asks the questions of each file, and returns the results. */
export async function askAll(options: RunOptions = {}): Promise<Map<string, Asked[]>> {
  const made = mkdtempSync(join(tmpdir(), "goal-over-data-"))
  // Closed in reverse order.
  const opened: (() => unknown)[] = [() => rmSync(made, { recursive: true, force: true })]
  try {
    const shop = await startShop()
    opened.push(() => shop.stop())
    const graph = companyGraph({ path: join(made, "company.lbug"), packagesOf: options.packagesOf })
    opened.push(() => graph.close())
    const documents = join(made, "documents.db")
    const { goal, diagnostics } = loadGoalConfig(join(folder, "goal.yaml"), {
      env: { SHOP_DB: shop.url, DOCUMENTS: documents, WITH_GRAPH: "true" },
      backends: () => ({ ...goalBackends({ root: folder }), graph: () => graph.retriever }),
    })
    if (goal === undefined) throw new Error(diagnostics.map(({ message }) => message).join("\n"))
    opened.push(() => goal.close())
    const index = documentIndex(documents, { root: folder })
    await index.add([join(folder, "documents")])
    await index.close()
    options.onStart?.(graph.kept)
    const pipeline = goalWorkflow(goal.config)
    const asked = new Map<string, Asked[]>()
    for (const file of options.files ?? SETS) {
      const all: Asked[] = []
      for (const question of parse(readFileSync(join(folder, file), "utf8")) as Question[]) {
        const one = await ask(pipeline, question)
        options.onAsked?.(one)
        all.push(one)
      }
      asked.set(file, all)
    }
    return asked
  } finally {
    for (const close of opened.reverse()) await close()
  }
}

const SOURCES: Readonly<Record<string, Source>> = {
  sql: "postgres",
  csv: "csv",
  vector: "documents",
  graph: "graph",
}

async function ask(pipeline: ReturnType<typeof goalWorkflow>, question: Question): Promise<Asked> {
  const { outputs, state } = await pipeline.run(question.question)
  const { sources, routes } = state as GoalBasis
  // The source that the answer cites, or else the first one that was found.
  const basis = sources.find(({ citedBy }) => citedBy.length > 0) ?? sources[0]
  const route = routes.find(({ source, outcome }) => source === basis?.source && outcome === "found")
  const chosen = SOURCES[route?.by ?? ""] ?? "none"
  const answer = outputs.at(-1) ?? ""
  const isAnswered = hasText(answer, question.contains)
  const went = chosen !== question.source ? "wrong source" : isAnswered ? "right" : "wrong answer"
  return { ...question, chosen, answer, went }
}

/** At word boundaries: 5 is not in INV-5016. */
function hasText(answer: string, text: string): boolean {
  const plain = text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")
  return new RegExp(String.raw`(?<![\w.-])${plain}(?![\w-])`).test(answer)
}

export function lineOf({ question, source, chosen, answer, went }: Asked): string {
  const [line = ""] = answer.split("\n").filter((one) => !one.endsWith("It says:"))
  return `${question}\n  ${chosen}: ${line}\n  ${went}${went === "wrong source" ? `, should be ${source}` : ""}`
}

export function summaryOf(file: string, all: readonly Asked[]): string {
  const sources = all.filter(({ went }) => went !== "wrong source").length
  const answers = all.filter(({ went }) => went === "right").length
  return `${file}: ${sources} of ${all.length} from the right source, ${answers} of them with the right answer`
}

if (import.meta.filename === process.argv[1]) {
  const asked = await askAll({
    onStart: (kept) => console.log(`PostgreSQL is up; the graph is in ${kept}.\n`),
    onAsked: (one) => console.log(`${lineOf(one)}\n`),
  })
  for (const [file, all] of asked) console.log(summaryOf(file, all))
}
