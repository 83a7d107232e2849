/** All runs, newest first: filters in the address, live without jumping, actions on many at once. */
import type { Run } from "@superstep/client"
import { useQueryClient } from "@tanstack/react-query"
import { useMemo, useState } from "react"
import { Link, useLocation } from "wouter"
import { useMay, useNewestRuns, useOpenRequests, useRunPages, useWorkflows } from "../api/queries.ts"
import { runHref, useAddress } from "../frame/address.ts"
import { Bar } from "../frame/frame.tsx"
import { Button, LinkButton } from "../ui/button.tsx"
import { Chip } from "../ui/chip.tsx"
import { SearchInput, Select, TextInput } from "../ui/field.tsx"
import { Duration, Time } from "../ui/figures.tsx"
import { localTime, plural, shortId } from "../ui/format.ts"
import parts from "../ui/parts.module.css"
import { Empty, Failure, Loading } from "../ui/states.tsx"
import { Status, statusWord } from "../ui/status.tsx"
import { type Column, VirtualTable } from "../ui/virtual-table.tsx"
import { BulkDialog } from "./bulk.tsx"
import { RunCost, RunPlace, RunTokens } from "./glances.tsx"
import {
  COLUMNS,
  type ColumnId,
  columnsShown,
  filterOf,
  hasEnded,
  isFiltered,
  mergeRuns,
  printColumns,
  questionOf,
  STATUSES,
} from "./run-list.ts"
import styles from "./runs.module.css"
import { useSavedViews } from "./saved-views.ts"
import { RANGES, rangeOf } from "./time-range.ts"

export function Runs() {
  const [params, setAddress] = useAddress()
  const [, navigate] = useLocation()
  const cache = useQueryClient()
  const key = params.toString()
  // biome-ignore lint/correctness/useExhaustiveDependencies: the text says when the parameters change
  const filter = useMemo(() => filterOf(params), [key])
  const pages = useRunPages(filter)
  const newest = useNewestRuns(filter)
  const { data: open = [] } = useOpenRequests()
  const [selected, setSelected] = useState<ReadonlySet<string>>(new Set())
  const [isBulkOpen, setBulkOpen] = useState(false)
  const mayAct = useMay("operator")

  const loaded = useMemo(() => pages.data?.pages.flatMap(({ runs }) => runs) ?? [], [pages.data])
  const { rows, added } = useMemo(() => mergeRuns(loaded, newest.data ?? []), [loaded, newest.data])
  const questions = useMemo(() => new Map(open.map((one) => [one.run, questionOf(one)])), [open])
  const showNew = () => {
    void cache.resetQueries({ queryKey: ["runs", "pages", filter] })
    setSelected(new Set())
  }
  const toggle = (id: string) => {
    const next = new Set(selected)
    if (!next.delete(id)) next.add(id)
    setSelected(next)
  }
  // biome-ignore lint/correctness/useExhaustiveDependencies: `toggle` changes with the selection only
  const columns = useMemo(() => {
    const shown = columnsShown(params.get("cols"))
    return columnsOf(mayAct, selected, toggle, questions).filter(
      ({ id }) => id === "box" || shown.has(id as ColumnId),
    )
  }, [mayAct, selected, questions, key])

  return (
    <>
      <Bar trail={[{ name: "Runs" }]}>
        {mayAct && (selected.size > 0 || isFiltered(filter)) && (
          <Button onClick={() => setBulkOpen(true)}>
            {selected.size > 0 ? `Act on ${plural(selected.size, "run")}` : "Act on all that match"}
          </Button>
        )}
      </Bar>
      <Filters params={params} set={setAddress} />
      {added.length > 0 && loaded.length > 0 && (
        <button type="button" className={styles.added} onClick={showNew}>
          {plural(added.length, "new run")}. Show
        </button>
      )}
      {pages.isError && loaded.length === 0 ? (
        <Failure error={pages.error} retry={() => void pages.refetch()} />
      ) : pages.isPending ? (
        <Loading lines={14} />
      ) : loaded.length === 0 && added.length === 0 ? (
        <NoRuns isFiltered={isFiltered(filter)} clear={() => navigate("/runs")} />
      ) : (
        <VirtualTable
          label="Runs"
          columns={columns}
          rows={loaded.length === 0 ? added : rows}
          idOf={({ id }) => id}
          onOpen={({ id }) => navigate(runHref(id))}
          selected={selected}
          {...(mayAct && { onSelect: toggle })}
          onEnd={() => {
            if (pages.hasNextPage && !pages.isFetchingNextPage && !pages.isError) void pages.fetchNextPage()
          }}
          footer={
            <p className={styles.end}>
              {pages.isError
                ? "The next page could not be loaded."
                : pages.hasNextPage
                  ? "Loading more…"
                  : plural(rows.length, "run")}
            </p>
          }
        />
      )}
      {isBulkOpen && (
        <BulkDialog
          runs={selected.size > 0 ? rows.filter(({ id }) => selected.has(id)) : undefined}
          filter={filter}
          onClose={() => {
            setBulkOpen(false)
            showNew()
          }}
        />
      )}
    </>
  )
}

function columnsOf(
  mayAct: boolean,
  selected: ReadonlySet<string>,
  toggle: (id: string) => void,
  questions: ReadonlyMap<string, ReturnType<typeof questionOf>>,
): Column<Run>[] {
  const box: Column<Run> = {
    id: "box",
    title: "Select",
    isTitleHidden: true,
    width: "36px",
    isExtra: true,
    cell: ({ id }) => (
      <input
        type="checkbox"
        className={styles.box}
        aria-label={`Select run ${id}`}
        tabIndex={-1}
        checked={selected.has(id)}
        onChange={() => toggle(id)}
      />
    ),
  }
  return [
    ...(mayAct ? [box] : []),
    {
      id: "status",
      title: "Status",
      width: "120px",
      narrow: "108px",
      cell: ({ status }) => <Status status={status} />,
    },
    {
      id: "run",
      title: "Run",
      width: "minmax(96px, 160px)",
      narrow: "minmax(60px, 1fr)",
      cell: ({ id }) => (
        <Link href={runHref(id)} className={styles.id} title={id} tabIndex={-1}>
          {shortId(id)}
        </Link>
      ),
    },
    {
      id: "workflow",
      title: "Workflow",
      width: "minmax(100px, 170px)",
      isExtra: true,
      cell: ({ workflow }) => workflow,
    },
    {
      id: "started",
      title: "Started",
      width: "104px",
      isExtra: true,
      cell: ({ createdAt }) => <Time at={createdAt} />,
    },
    {
      id: "took",
      title: "Took",
      width: "96px",
      isNumber: true,
      isExtra: true,
      cell: (run) => <Duration from={run.createdAt} to={hasEnded(run) ? run.updatedAt : undefined} />,
    },
    {
      id: "cost",
      title: "Cost",
      width: "84px",
      isNumber: true,
      isExtra: true,
      cell: (run) => <RunCost run={run} />,
    },
    {
      id: "tokens",
      title: "Tokens",
      width: "84px",
      isNumber: true,
      isExtra: true,
      cell: (run) => <RunTokens run={run} />,
    },
    {
      id: "thread",
      title: "Thread",
      width: "minmax(80px, 140px)",
      isExtra: true,
      cell: ({ thread }) => thread ?? "",
    },
    {
      id: "version",
      title: "Version",
      width: "72px",
      isNumber: true,
      isExtra: true,
      cell: ({ version }) => version ?? "",
    },
    {
      id: "where",
      title: "Where it is",
      width: "minmax(100px, 1fr)",
      narrow: "minmax(100px, 1.4fr)",
      cell: (run) => (
        <span className={styles.where}>
          <span className={run.status === "completed" ? styles.calm : ""}>
            <RunPlace run={run} question={questions.get(run.id)} />
          </span>
          {Object.entries(run.labels ?? {}).map(([name, value]) => (
            <Chip key={name} title={`${name}=${value}`}>
              {name}: {value}
            </Chip>
          ))}
          {run.forkOf !== undefined && <Chip title={`A fork of ${run.forkOf.run}`}>fork</Chip>}
        </span>
      ),
    },
  ]
}

interface FiltersProps {
  readonly params: URLSearchParams
  readonly set: ReturnType<typeof useAddress>[1]
}

function Filters({ params, set }: FiltersProps) {
  const { data: workflows = [] } = useWorkflows()
  const { views, save, remove } = useSavedViews()
  const status = params.get("status") ?? ""
  const workflow = params.get("workflow") ?? ""
  const names = new Set([...workflows.map(({ name }) => name), ...(workflow === "" ? [] : [workflow])])
  const query = params.toString()
  const isSaved = views.some((view) => view.query === query)
  return (
    <div className={parts.bar}>
      <Select
        label="Status"
        value={status}
        isSet={status !== ""}
        onChange={(value) => set({ status: value || undefined })}
        options={[
          ["", "Any status"],
          ...STATUSES.map((one) => [one, statusWord(one)] as const),
          ...(status.includes(",") ? [[status, status.replaceAll(",", ", ")] as const] : []),
        ]}
      />
      <Select
        label="Workflow"
        value={workflow}
        isSet={workflow !== ""}
        onChange={(value) => set({ workflow: value || undefined })}
        options={[["", "Any workflow"], ...[...names].map((name) => [name, name] as const)]}
      />
      <TimeFilter params={params} set={set} />
      {params.getAll("label").map((label) => (
        <Button
          key={label}
          icon="cross"
          onClick={() => set({ label: params.getAll("label").filter((one) => one !== label) })}
        >
          {label}
        </Button>
      ))}
      <SearchBox params={params} set={set} />
      <ColumnChoice params={params} set={set} />
      <div className={styles.views} role="group" aria-label="Views">
        {views.map((view) => (
          <Link
            key={view.name}
            href={view.query === "" ? "/runs" : `/runs?${view.query}`}
            className={styles.view}
            aria-current={view.query === query ? "true" : undefined}
          >
            {view.name}
          </Link>
        ))}
        {!isSaved && (
          <Button look="quiet" onClick={() => save(query)}>
            Save view
          </Button>
        )}
        {isSaved && views.some((view) => view.query === query && view.isOwn) && (
          <Button look="quiet" onClick={() => remove(query)}>
            Remove view
          </Button>
        )}
      </div>
    </div>
  )
}

function TimeFilter({ params, set }: FiltersProps) {
  const since = params.get("since") ?? undefined
  const until = params.get("until") ?? undefined
  const range = rangeOf({ since, until })
  const choose = (chosen: string) => {
    if (chosen === "between") set({ since: localTime(Date.now() - 86_400_000), until: localTime(Date.now()) })
    else set({ since: chosen || undefined, until: undefined })
  }
  return (
    <>
      <Select label="Created" value={range} isSet={range !== ""} onChange={choose} options={RANGES} />
      {range === "between" && (
        <span className={styles.between}>
          {(["since", "until"] as const).map((name) => (
            <TextInput
              key={name}
              type="datetime-local"
              aria-label={name === "since" ? "Created from" : "Created before"}
              value={(name === "since" ? since : until) ?? ""}
              onChange={(event) => set({ [name]: event.currentTarget.value || undefined }, { replace: true })}
            />
          ))}
        </span>
      )}
    </>
  )
}

function ColumnChoice({ params, set }: FiltersProps) {
  const shown = columnsShown(params.get("cols"))
  return (
    <details className={styles.columns}>
      <summary>Columns</summary>
      <fieldset>
        <legend className="visually-hidden">Columns of the list</legend>
        {COLUMNS.map(([id, title]) => (
          <label key={id}>
            <input
              type="checkbox"
              checked={shown.has(id)}
              disabled={id === "run"}
              onChange={() => {
                const next = new Set(shown)
                if (!next.delete(id)) next.add(id)
                set({ cols: printColumns(next) }, { replace: true })
              }}
            />
            {title}
          </label>
        ))}
      </fieldset>
    </details>
  )
}

/** Searches ids, workflows and errors; `name=value` adds a filter by label. */
function SearchBox({ params, set }: FiltersProps) {
  const [text, setText] = useState(params.get("text") ?? "")
  const submit = (value: string) => {
    if (/^[^\s=]+=\S+$/.test(value)) {
      setText("")
      set({ label: [...params.getAll("label"), value], text: undefined })
    } else set({ text: value || undefined }, { replace: true })
  }
  return (
    <form
      className={styles.search}
      role="search"
      onSubmit={(event) => {
        event.preventDefault()
        submit(text.trim())
      }}
    >
      <SearchInput
        label="Search runs by text, or by label=value"
        placeholder="Search text, or label=value"
        value={text}
        onInput={(event) => {
          setText(event.currentTarget.value)
          if (event.currentTarget.value === "") submit("")
        }}
      />
    </form>
  )
}

function NoRuns({ isFiltered, clear }: { readonly isFiltered: boolean; readonly clear: () => void }) {
  if (isFiltered) {
    return (
      <Empty icon="filter" title="No run matches these filters">
        <Button onClick={clear}>Clear filters</Button>
      </Empty>
    )
  }
  return (
    <Empty icon="runs" title="No runs yet">
      <p>Every run of every workflow on this store appears here, live.</p>
      <p>
        <LinkButton href="/workflows" look="primary" icon="play">
          Start one
        </LinkButton>
      </p>
    </Empty>
  )
}
