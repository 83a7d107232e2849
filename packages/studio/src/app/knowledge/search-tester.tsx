/** Searches an index as an agent does, and shows what it gets: chunks in order, with their scores. The query is in the address. */
import type { Index } from "@superstep/client"
import { keepPreviousData, useQuery } from "@tanstack/react-query"
import { useState } from "react"
import { client } from "../api/session.ts"
import { useAddress } from "../frame/address.ts"
import { Button } from "../ui/button.tsx"
import { Copy } from "../ui/copy.tsx"
import { SearchInput, Select } from "../ui/field.tsx"
import { duration, plural } from "../ui/format.ts"
import parts from "../ui/parts.module.css"
import { Empty, Failure, Loading } from "../ui/states.tsx"
import { scoreText, shownChunks } from "./found.ts"
import styles from "./knowledge.module.css"

const MODES = [
  ["merged", "Text and vectors"],
  ["text", "Text only"],
  ["vector", "Vectors only"],
] as const
const LIMITS = [5, 10, 20, 50]

export function SearchTester({ index }: { readonly index: Index }) {
  const [params, setAddress] = useAddress()
  const query = params.get("q") ?? ""
  const [text, setText] = useState(query)
  const mode =
    MODES.find(([id]) => id === params.get("mode"))?.[0] ?? (index.vectorSearch ? "merged" : "text")
  const limit = LIMITS.find((one) => String(one) === params.get("limit")) ?? 10
  const { data, isError, error, refetch } = useQuery({
    queryKey: ["index-search", index.name, query, mode, limit],
    enabled: query !== "",
    placeholderData: keepPreviousData,
    queryFn: async ({ signal }) => {
      const body = { query, mode, limit }
      return (
        await client.request("POST /v1/indexes/{index}/search", { path: { index: index.name }, body, signal })
      ).data
    },
  })
  const chunks = data === undefined ? [] : shownChunks(data.found, query)
  return (
    <>
      <form
        role="search"
        className={parts.bar}
        onSubmit={(event) => {
          event.preventDefault()
          setAddress({ q: text.trim() || undefined })
        }}
      >
        <SearchInput
          label="Search this index"
          placeholder="What would an agent search for?"
          value={text}
          onInput={(event) => setText(event.currentTarget.value)}
        />
        {index.vectorSearch && (
          <Select
            label="Mode"
            value={mode}
            onChange={(value) => setAddress({ mode: value }, { replace: true })}
            options={MODES}
          />
        )}
        <Select
          label="Chunks"
          value={String(limit)}
          onChange={(value) => setAddress({ limit: value }, { replace: true })}
          options={LIMITS.map((one) => [String(one), `${one} chunks`] as const)}
        />
        <Button look="primary" icon="search" type="submit">
          Search
        </Button>
      </form>
      {query === "" ? (
        <Empty icon="search" title="Try a search">
          You see the chunks that an agent would get, the best first, with their scores.
        </Empty>
      ) : isError && data === undefined ? (
        <Failure error={error} retry={() => void refetch()} />
      ) : data === undefined ? (
        <Loading lines={8} />
      ) : chunks.length === 0 ? (
        <Empty icon="search" title="Nothing was found">
          No chunk of {index.name} matches. Try other words, or look at its documents.
        </Empty>
      ) : (
        <section className={styles.results} aria-label="Found chunks" tabIndex={0}>
          <p className={parts.calm} role="status">
            {plural(chunks.length, "chunk")} in {duration(data.milliseconds)}
          </p>
          <ol className={styles.chunks}>
            {chunks.map((chunk) => (
              <li key={`${chunk.rank} ${chunk.source}`} className={styles.chunk}>
                <header>
                  <span className={styles.rank}>{chunk.rank}</span>
                  <strong>{chunk.title ?? chunk.source}</strong>
                  {chunk.title !== undefined && <span className={parts.calm}>{chunk.source}</span>}
                  <span className={styles.score} title={`Score ${chunk.score}`}>
                    <span className={styles.bar} aria-hidden="true">
                      <span style={{ width: `${Math.round(100 * chunk.strength)}%` }} />
                    </span>
                    {scoreText(chunk.score)}
                    {chunk.relevance !== undefined && (
                      <span className={parts.calm}>relevance {scoreText(chunk.relevance)}</span>
                    )}
                  </span>
                  <Copy what="the chunk" text={() => chunk.text} />
                </header>
                <p className={styles.text}>
                  {chunk.parts.map(({ text: part, isMatch }, i) =>
                    // biome-ignore lint/suspicious/noArrayIndexKey: the parts of the text never move
                    isMatch ? <mark key={i}>{part}</mark> : part,
                  )}
                </p>
              </li>
            ))}
          </ol>
        </section>
      )}
    </>
  )
}
