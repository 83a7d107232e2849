// The server that is measured on: one out of npm for as long as it is needed, or an existing one.
import { tsImport } from "tsx/esm/api"

const settings = { fsync: "on", shared_buffers: "512MB", max_wal_size: "4GB" }

/** @returns its `url`, `isOwn`: whether it was started here, and `stop()` */
export async function benchServer(url) {
  if (url !== undefined) return { url, isOwn: false, stop: async () => undefined }
  const { startPostgres } = await tsImport("../../../tests/postgres/start-postgres.ts", import.meta.url)
  const server = await startPostgres({ settings })
  return { url: server.url(), isOwn: true, stop: () => server.stop() }
}
