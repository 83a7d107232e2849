/** The templates of `superstep init`. Their agents have short notes, which the offline model quotes on the first run. */
import type { Template } from "./project.ts"

/** Facts that the prompts of the templates ask about. */
const TEA_NOTES = [
  "Tea is drunk hot because hot water extracts its aroma and its caffeine within minutes.",
  "Green tea is brewed at 70 to 80 °C, and black tea is brewed at 95 to 100 °C.",
  "Boiling the water makes it safe to drink, which is why tea was hot in the first place.",
]

const steps: Template = {
  name: "steps",
  summary: "agents and steps in one YAML file",
  next: [
    "npx superstep validate article.yaml",
    "npx superstep graph article.yaml",
    'npx superstep run article.yaml "Why tea is drunk hot"',
  ],
  files: (model) => ({ "article.yaml": article(model) }),
  manifest: { scripts: { start: "superstep run article.yaml" } },
}

const article = (
  model: string,
) => `# An article: a draft, two reviews of it at the same time, and the final text.
# Every agent receives the outputs of the steps before it, and then your prompt.
agents:
  writer:
    model: ${model}
    description: Writes the first draft.
    # The notes are facts that the draft may use. Replace them with your own.
    instruction: |
      Write a short article about the topic of the prompt: a title, then three paragraphs. Use these notes.

${TEA_NOTES.map((note) => `      ${note}`).join("\n")}

  fact_checker:
    model: ${model}
    description: Looks for mistakes.
    instruction: |
      List every statement of the draft that may be wrong, each with the reason.

  critic:
    model: ${model}
    description: Judges the style.
    instruction: |
      Say in three sentences what would make the draft better to read.

  editor:
    model: ${model}
    description: Writes the final text.
    instruction: |
      Rewrite this draft. Fix what the fact checker found, and follow the critic where that helps.

      The draft: {{ $steps.draft.output }}

workflow:
  - id: draft
    type: agent
    name: writer
    retry: { max_attempts: 2, backoff: exponential }

  - id: opinions
    type: parallel
    steps:
      - { id: facts, type: agent, name: fact_checker }
      - { id: style, type: agent, name: critic }

  - id: final
    type: agent
    name: editor
`

/** A graph in the format of a database. */
const graph: Template = {
  name: "graph",
  summary: "nodes and edges as rows of JSON, with agents in a file beside them",
  next: [
    "npx superstep validate support.json --agents agents.yaml",
    'npx superstep run support.json "My invoice is wrong" --agents agents.yaml',
    "npx superstep apply support.json --agents agents.yaml",
    'npx superstep run support "My login fails"',
  ],
  files: (model) => ({
    "support.json": `${JSON.stringify(support, undefined, 2)}\n`,
    "agents.yaml": agents(model),
  }),
  manifest: { scripts: { start: "superstep run support.json --agents agents.yaml" } },
}

const row = { workflowId: "support" }

const support = {
  id: "support",
  name: "Support",
  description: "Sorts letters by their words, and passes each to the agent that can answer it.",
  isConversational: false,
  entrypointNodeId: "sort",
  nodes: [
    {
      id: "sort",
      ...row,
      nodeType: "DECISION",
      nodeName: "sort",
      options: ["billing", "technical"],
      decide: "latest.lowerAscii().matches('invoice|refund|payment') ? 'billing' : 'technical'",
    },
    { id: "billing", ...row, nodeType: "AGENT", nodeName: "billing", agentId: "accountant" },
    { id: "technical", ...row, nodeType: "AGENT", nodeName: "technical", agentId: "engineer" },
  ],
  edges: [edge("billing-done", "billing"), edge("technical-done", "technical")],
}

/** An edge to the end of the run. */
function edge(id: string, sourceNodeId: string) {
  return { id, ...row, sourceNodeId, targetNodeId: null, conditionType: "ALWAYS", conditionValue: null }
}

const agents = (model: string) => `# The agents of support.json, by the ids that its nodes name.
agents:
  accountant:
    model: ${model}
    description: Answers questions about invoices and refunds.
    instruction: |
      Answer the letter. Be kind and exact, and say what happens next.

      A wrong invoice is corrected within two working days, and the corrected invoice is sent by mail.
      A refund takes five working days.

  engineer:
    model: ${model}
    description: Answers everything else.
    instruction: |
      Answer the letter in short, numbered steps.

      A login fails if the password is wrong. It is reset with the link on the login page, which is valid for one hour.
      An account is locked for 15 minutes after five failed logins.
`

const typescript: Template = {
  name: "typescript",
  summary: "a workflow in TypeScript",
  next: ["npx superstep graph workflow.ts", 'npx superstep run workflow.ts "Why tea is drunk hot"'],
  files: (model) => ({ "tsconfig.json": tsconfig, "workflow.ts": workflowModule(model) }),
  manifest: {
    type: "module",
    scripts: { start: "superstep run workflow.ts", check: "tsc --noEmit" },
    devDependencies: ["@types/node", "tsx", "typescript"],
  },
}

const tsconfig = `{
  "compilerOptions": {
    "target": "es2023",
    "module": "nodenext",
    "strict": true,
    "noEmit": true,
    "allowImportingTsExtensions": true,
    "erasableSyntaxOnly": true,
    "types": ["node"]
  }
}
`

const workflowModule = (
  model: string,
) => `/** An article: an outline, a paragraph for each of its parts at the same time, and the whole text. */
import { node, workflow } from "superstep"
import { agent } from "superstep/agents"

const outline = node("outline", (topic: string) => [
  \`Introduce: \${topic}\`,
  \`Explain: \${topic}\`,
  \`Sum up: \${topic}\`,
])

// Facts that the agent may use. Replace them with your own.
const notes = \`
${TEA_NOTES.join("\n")}
\`

const writer = agent({
  name: "writer",
  model: "${model}",
  instructions: \`Write one paragraph. Do what you are asked, and nothing else. Use these notes.\\n\${notes}\`,
})

const article = node("article", (parts: readonly string[]) => parts.join("\\n\\n"))

export default workflow("article").start(outline).map(outline, writer, article).build()
`

const chat: Template = {
  name: "chat",
  summary: "one agent to talk to",
  next: [
    "npx superstep validate assistant.yaml",
    'npx superstep run assistant.yaml "How do I plan my day?"',
    "npx superstep chat assistant.yaml",
  ],
  files: (model) => ({ "assistant.yaml": assistant(model) }),
  manifest: { scripts: { start: "superstep chat assistant.yaml" } },
}

const assistant = (model: string) => `# An agent to talk to, with a to-do list.
agents:
  assistant:
    model: ${model}
    description: Helps with plans.
    welcome_message: Hello. What do you want to get done?
    instruction: |
      You help people plan. Ask when something is not clear. Keep a to-do list, and answer in a few sentences.

      A good plan for the day has three tasks at most, and the hardest one is first.
    toolsets:
      - type: todo
    commands:
      plan: Make a plan for today from the to-do list.
`

// The template `goal`: a goal configuration with sample data, which answers without a key.

const goal: Template = {
  name: "goal",
  summary: "answers over your own tables and documents",
  next: [
    "npx superstep sources check goal.yaml",
    'npx superstep ask goal.yaml "How long can I return a lamp?"',
    'npx superstep ask goal.yaml "Which products are green?"',
  ],
  files: (model) => ({
    "goal.yaml": configuration(model),
    "data/products.csv": PRODUCTS,
    "data/orders.csv": ORDERS,
    "notes/returns.md": RETURNS,
    "notes/shipping.md": SHIPPING,
  }),
  manifest: {
    scripts: { start: "superstep ask goal.yaml", check: "superstep sources check goal.yaml" },
    dependencies: ["@duckdb/node-api"],
  },
}

const configuration = (
  model: string,
) => `# Answers questions over the tables in data/ and the documents in notes/. Put your own there.
agents:
  # Says what a question is about.
  triage: { model: ${model} }
  # Writes one SELECT. The offline model writes none: it lists the rows that match the question.
  sql: { model: ${model} }
  # Answers from what was found.
  assistant:
    model: ${model}
    instruction: |
      Answer the question from the context. Say so if the context does not have the answer.
  # Reads the answer, and sends it back if something is wrong with it.
  reviewer: { model: ${model} }

# Several assistants answer together if a question is for several, or always with multi_route_always: true.
assistants: [assistant]
sql_agent: sql
max_review_passes: 1

search:
  databases:
    # CSV, TSV, JSON, Parquet and Excel files. Each is a table with the file's name.
    - { type: csv, id: shop, folder: data }
    # - { type: sqlite, id: crm, file: crm.db }
    # - { type: postgresql, id: sales, url: "\${SALES_DB}" } # as a role that can only read
    # - { type: mysql, id: web, url: "\${WEB_DB}" } # MySQL or MariaDB, as a user who can only read

  # Text, Markdown, HTML and PDF. Their index is updated when it is searched.
  vector: { documents: [notes] }
  # vector: { documents: [notes], embeddings: offline } # also by meaning

  # graph: { type: neo4j, url: "\${GRAPH_URL}", user: reader, password: "\${GRAPH_PASSWORD}" }

  # Passages that are shown to an assistant.
  results: 5
`

const PRODUCTS = `id,product,colour,price,pieces
1,desk lamp,green,39.90,12
2,floor lamp,black,89.00,3
3,bookshelf,oak,129.00,7
4,office chair,green,199.00,0
`

const ORDERS = `id,product_id,customer,ordered_on,pieces
1001,1,Ann,2026-01-12,2
1002,4,Bob,2026-02-03,1
1003,1,Cleo,2026-02-17,1
1004,3,Ann,2026-03-01,1
`

const RETURNS = `# Returns

A lamp can be returned within 30 days, in its box and with its receipt.

Furniture is collected at home. The collection costs 25 euros and is arranged by telephone.
`

const SHIPPING = `# Shipping

Small parcels arrive within two working days.

A bookshelf or a chair is delivered on Tuesdays and Fridays, to the door of the flat.
`

export const TEMPLATES: readonly Template[] = [steps, graph, typescript, chat, goal]
