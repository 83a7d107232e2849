/**
 * The server of these tests has no pgvector. A type and an operator with the same names replace it, so that the query
 * runs unchanged. The use of pgvector's own index is not tested.
 */
import { afterAll, beforeAll, expect, test } from "vitest"
import type { Embeddings } from "../index/embeddings/embeddings.ts"
import { postgresIndex } from "./postgres-index.ts"
import { type PostgresServer, startPostgres } from "./postgres-server.test-support.ts"

const STAND_IN = `
CREATE DOMAIN vector AS text;
CREATE FUNCTION cosine_distance(text, text) RETURNS float8 LANGUAGE sql IMMUTABLE AS $$
  SELECT 1 - sum(a::float8 * b::float8) / sqrt(sum(a::float8 ^ 2) * sum(b::float8 ^ 2))
  FROM json_array_elements_text($1::json) WITH ORDINALITY x(a, i)
  JOIN json_array_elements_text($2::json) WITH ORDINALITY y(b, i) USING (i)
$$;
CREATE OPERATOR <=> (LEFTARG = text, RIGHTARG = text, FUNCTION = cosine_distance);
CREATE SCHEMA docs;
CREATE TABLE docs."Chunks" (body text, "where" text, head text, embedding vector);
INSERT INTO docs."Chunks" VALUES
  ('The clinic opens at seven.', 'clinic.md', 'Clinic', '[1,0.1]'),
  ('Bread is baked at night.', 'bread.md', NULL, '[0.1,1]'),
  ('Not embedded yet.', 'new.md', NULL, NULL);
CREATE ROLE reader LOGIN PASSWORD 'x';
GRANT USAGE ON SCHEMA docs TO reader;
GRANT SELECT ON docs."Chunks" TO reader`

/** Doctors have one direction, bakers another. */
const embeddings: Embeddings = {
  name: "two ways",
  dimensions: 2,
  embed: async (texts) => texts.map((text) => (/doctor/.test(text) ? [2, 0] : [0, 2])),
}

/** The operator here does not belong to an extension. */
const DISTANCE = ["public.cosine_distance"]

let server: PostgresServer
beforeAll(async () => {
  server = await startPostgres()
  await server.run(STAND_IN)
})
afterAll(() => server.stop())

function index(role = "reader", password = "x") {
  const columns = { text: "body", vector: "embedding", source: "where", title: "head" }
  return postgresIndex({
    id: "chunks",
    connectionString: server.url(role, password),
    table: "docs.Chunks",
    columns,
    embeddings,
    allowFunctions: DISTANCE,
  })
}

test("the rows nearest in meaning come first, with score, source and title", async () => {
  const chunks = index()
  const found = await chunks.search("When can I see a doctor?")
  expect(found.map(({ source, title }) => [source, title])).toEqual([
    ["clinic.md", "Clinic"],
    ["bread.md", undefined],
  ])
  expect(found[0]?.score).toBeCloseTo(0.995, 3)
  expect(found[0]?.text).toBe("The clinic opens at seven.")
  expect((await chunks.search("Who bakes?", { limit: 1 })).map(({ source }) => source)).toEqual(["bread.md"])
  expect(await chunks.search(" ")).toEqual([])
  await chunks.close()
})

test("equally near rows are ordered by their sources, and long ones are not dropped", async () => {
  await server.run(`CREATE TABLE docs.long (body text, "where" text, embedding vector);
    INSERT INTO docs.long SELECT repeat('x', 200000), 'page ' || i, '[1,0]' FROM generate_series(9, 1, -1) i;
    GRANT SELECT ON docs.long TO reader`)
  const long = postgresIndex({
    id: "long",
    connectionString: server.url("reader", "x"),
    table: "docs.long",
    columns: { text: "body", vector: "embedding", source: "where" },
    embeddings,
    allowFunctions: DISTANCE,
  })
  const found = await long.search("doctor")
  expect(found.map(({ source }) => source)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9].map((i) => `page ${i}`))
  await long.close()
})

test("a role that can write is refused, as for any query", async () => {
  const chunks = index("postgres", "secret")
  await expect(chunks.search("doctor")).rejects.toMatchObject({ code: "DATABASE_ROLE_UNSAFE" })
  await chunks.close()
})

test("an invalid limit, and embeddings without numbers, are refused", async () => {
  const chunks = index()
  await expect(chunks.search("doctor", { limit: 0 })).rejects.toMatchObject({ code: "OPTION_INVALID" })
  await chunks.close()
  const odd = postgresIndex({
    id: "odd",
    connectionString: server.url("reader", "x"),
    table: "docs.Chunks",
    columns: { text: "body", vector: "embedding", source: "where" },
    embeddings: { ...embeddings, embed: async () => [["1]' OR", 0] as never] },
  })
  await expect(odd.search("doctor")).rejects.toMatchObject({ code: "EMBEDDINGS_INVALID" })
  await odd.close()
})
