/** Documents that are found by words and by meaning. */
export type { AddProgress, AddResult, GivenDocument } from "./add-documents.ts"
export type { ChunkOptions } from "./chunks.ts"
export {
  type AddOptions,
  type DocumentIndex,
  type DocumentIndexOptions,
  documentIndex,
  type IndexedDocument,
  type IndexReport,
  type IndexSearchOptions,
} from "./document-index.ts"
export { type Documents, type DocumentsInOptions, documentsIn } from "./documents-in.ts"
export type { EmbeddedWith } from "./embedded-with.ts"
export type { Embeddings } from "./embeddings/embeddings.ts"
export { type NamedEmbeddingsOptions, namedEmbeddings } from "./embeddings/named-embeddings.ts"
export { offlineEmbeddings } from "./embeddings/offline-embeddings.ts"
export {
  type EmbeddingModel,
  type ProviderEmbeddingsOptions,
  providerEmbeddings,
} from "./embeddings/provider-embeddings.ts"
export type { DocumentType } from "./readers/read-document.ts"
