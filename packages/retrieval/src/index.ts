/** Search back ends for patterns: SQL databases, files of tables, documents, graphs. */
export { type GoalBackendsOptions, goalBackends, type SourceProgress } from "./goal-backends.ts"
export type {
  GraphDatabase,
  GraphFindOptions,
  GraphLabel,
  GraphQueryOptions,
  GraphQuestion,
  GraphRelationship,
  GraphRelationshipType,
  GraphSchema,
  PropertyGraphNode,
} from "./graph/graph-database.ts"
export { type GraphRetrieverOptions, graphRetriever } from "./graph/graph-retriever.ts"
export { type LadybugOptions, ladybugGraph } from "./graph/ladybug.ts"
export { type Neo4jOptions, neo4jGraph } from "./graph/neo4j.ts"
export type { AddProgress, AddResult, TextDocument } from "./index/add-documents.ts"
export type { ChunkOptions } from "./index/chunks.ts"
export {
  type AddOptions,
  type DocumentIndex,
  type DocumentIndexOptions,
  documentIndex,
  type IndexedDocument,
  type IndexReport,
  type IndexSearchOptions,
  type Rerank,
} from "./index/document-index.ts"
export { type Documents, type DocumentsInOptions, documentsIn } from "./index/documents-in.ts"
export { type Embeddings, offlineEmbeddings } from "./index/embeddings/embeddings.ts"
export {
  defaultEmbeddings,
  type EmbeddingModel,
  type NamedEmbeddingsOptions,
  namedEmbeddings,
  type ProviderEmbeddingsOptions,
  providerEmbeddings,
} from "./index/embeddings/named-embeddings.ts"
export type { DocumentType } from "./index/readers/read-document.ts"
export type { EmbeddedWith } from "./index/vectors.ts"
export { type MemoryIndexOptions, memoryIndex, type OwnerMemoryIndex } from "./memory/memory-index.ts"
export { type SourceRankerOptions, schemaRetriever, sourceRanker } from "./schema/source-ranker.ts"
export { type FileDatabase, type FilesOptions, fileDatabase } from "./sql/files.ts"
export type { LoadOptions, LoadProgress } from "./sql/load-tables.ts"
export { type MysqlOptions, mysqlDatabase } from "./sql/mysql.ts"
export { type PostgresConnection, type PostgresOptions, postgresDatabase } from "./sql/postgres.ts"
export { type PostgresIndex, type PostgresIndexOptions, postgresIndex } from "./sql/postgres-index.ts"
export type { ProfileOptions } from "./sql/profile-tables.ts"
export type { QueryLimits } from "./sql/queries.ts"
export { type SqliteOptions, sqliteDatabase } from "./sql/sqlite.ts"
export { cacheFolder, type FileReport } from "./sql/table-cache.ts"
