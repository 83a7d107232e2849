/** Document indexes: what is in them, and what a search finds, with scores and chunks. */
import type { Index } from "@superstep/client"
import { useQuery } from "@tanstack/react-query"
import { client } from "../api/session.ts"
import { useAddress } from "../frame/address.ts"
import { Bar } from "../frame/frame.tsx"
import { bytes, count, plural } from "../ui/format.ts"
import parts from "../ui/parts.module.css"
import { Empty, Failure, Loading } from "../ui/states.tsx"
import { Tabs } from "../ui/tabs.tsx"
import { Documents } from "./documents.tsx"
import styles from "./knowledge.module.css"
import { SearchTester } from "./search-tester.tsx"

export default function Knowledge() {
  const [params, setAddress] = useAddress()
  const { data, isError, error, refetch } = useQuery({
    queryKey: ["indexes"],
    queryFn: async ({ signal }) => (await client.request("GET /v1/indexes", { signal })).data.indexes,
    refetchInterval: 10_000,
  })
  const chosen = data?.find(({ name }) => name === params.get("index")) ?? data?.[0]
  const isSearch = params.get("v") !== "documents"
  return (
    <>
      <Bar trail={[{ name: "Knowledge" }]} />
      {isError && data === undefined ? (
        <Failure error={error} retry={() => void refetch()} />
      ) : data === undefined ? (
        <Loading lines={8} />
      ) : chosen === undefined ? (
        <Empty icon="knowledge" title="This server has no document index">
          <p>An index makes your documents searchable for agents. Create one, and serve it:</p>
          <p>
            <code>superstep index add docs/</code>
          </p>
        </Empty>
      ) : (
        <div className={`${parts.sides} ${styles.knowledge}`}>
          <nav className={`${parts.list} ${styles.list}`} aria-label="Indexes">
            {data.map((index) => (
              <button
                key={index.name}
                type="button"
                className={`${parts.item} ${styles.index}`}
                aria-current={index.name === chosen.name ? "true" : undefined}
                onClick={() => setAddress({ index: index.name })}
              >
                <strong>{index.name}</strong>
                <span className={parts.calm}>
                  {plural(index.documents, "document")}, {plural(index.chunks, "chunk")}, {bytes(index.bytes)}
                </span>
              </button>
            ))}
          </nav>
          <section className={styles.side} aria-label={`Index ${chosen.name}`}>
            <Tabs
              label={`Index ${chosen.name}`}
              tabs={[
                { id: "search", label: "Search" },
                { id: "documents", label: "Documents", count: chosen.documents },
              ]}
              selected={isSearch ? "search" : "documents"}
              onSelect={(v) => setAddress({ v: v === "search" ? undefined : v })}
            >
              <span className={styles.how}>{searchWords(chosen)}</span>
            </Tabs>
            {isSearch ? (
              <SearchTester key={chosen.name} index={chosen} />
            ) : (
              <Documents key={chosen.name} index={chosen.name} />
            )}
          </section>
        </div>
      )}
    </>
  )
}

function searchWords({ vectorSearch, embeddings, reason, chunks }: Index): string {
  if (vectorSearch) return `Searches text and vectors${embeddings === undefined ? "" : ` of ${embeddings}`}`
  return `Searches text only${reason === undefined ? "" : `: ${reason}`}${chunks === 0 ? `; ${count(0)} chunks` : ""}`
}
