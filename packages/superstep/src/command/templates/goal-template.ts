/** The template `goal`: a configuration of the goal pipeline with a little data, which answers without a key. */
import type { Template } from "./project.ts"

export const goal: Template = {
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
