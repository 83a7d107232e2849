// A domain as real sources: a PostgreSQL server, files, and an index of documents.
import { mkdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { documentIndex, fileDatabase, postgresDatabase } from "@superstep/retrieval"

export async function openDomain(server, domain, folder, embeddings) {
  const database = domain.name.replaceAll(" ", "_")
  await server.run(`CREATE DATABASE ${database}`)
  await server.run(domain.sql, database)
  await server.run(
    "GRANT SELECT ON ALL TABLES IN SCHEMA public TO reader; REVOKE CREATE ON SCHEMA public FROM PUBLIC",
    database,
  )
  const files = join(folder, database)
  mkdirSync(files, { recursive: true })
  for (const [name, text] of Object.entries(domain.files)) writeFileSync(join(files, name), text)
  const plain = documentIndex(join(folder, `${database}.words.db`), { root: folder })
  const embedded = documentIndex(join(folder, `${database}.db`), { root: folder, embeddings })
  for (const index of [plain, embedded]) await index.add(domain.documents)
  const opened = postgresDatabase({
    id: "database",
    connectionString: server.url("reader", "reader", database),
  })
  const fileTables = fileDatabase({ id: "files", folder: files })
  return {
    database: opened,
    files: fileTables,
    cache: join(folder, "profiles"),
    documents: { plain: named(plain), embedded: named(embedded) },
    async close() {
      for (const one of [opened, fileTables, plain, embedded]) await one.close()
    },
  }
}

/** By the kind that the questions name. */
function named(index) {
  return { name: "documents", search: index.search, describe: index.describe }
}
