/** What patterns look things up in: SQL databases and files of tables, documents, graphs. */
export { type GoalBackendsOptions, goalBackends } from "./goal-backends.ts"
export type {
  GraphDatabase,
  GraphFindOptions,
  GraphLabel,
  GraphNode,
  GraphQueryOptions,
  GraphQuestion,
  GraphRelationship,
  GraphRelationshipType,
  GraphSchema,
} from "./graph/graph-database.ts"
export { type GraphRetrieverOptions, graphRetriever } from "./graph/graph-retriever.ts"
export { type LadybugOptions, ladybugGraph } from "./graph/ladybug.ts"
export { type Neo4jOptions, neo4jGraph } from "./graph/neo4j.ts"
export {
  type AddOptions,
  type AddProgress,
  type AddResult,
  type ChunkOptions,
  type DocumentIndex,
  type DocumentIndexOptions,
  type Documents,
  type DocumentsInOptions,
  type DocumentType,
  documentIndex,
  documentsIn,
  type EmbeddedWith,
  type EmbeddingModel,
  type Embeddings,
  type GivenDocument,
  type IndexedDocument,
  type IndexReport,
  type IndexSearchOptions,
  type NamedEmbeddingsOptions,
  namedEmbeddings,
  offlineEmbeddings,
  type ProviderEmbeddingsOptions,
  providerEmbeddings,
} from "./index/index.ts"
export { schemaRetriever } from "./schema/schema-retriever.ts"
export { type FileDatabase, type FileReport, type FilesOptions, fileDatabase } from "./sql/files.ts"
export { type PostgresConnection, type PostgresOptions, postgresDatabase } from "./sql/postgres.ts"
export { type PostgresIndex, type PostgresIndexOptions, postgresIndex } from "./sql/postgres-index.ts"
export type { QueryLimits } from "./sql/query-limits.ts"
