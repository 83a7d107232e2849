/** The coming fires of all schedules, by week and day. */
import { useQuery } from "@tanstack/react-query"
import { client } from "../api/session.ts"
import { clock, count, exact } from "../ui/format.ts"
import parts from "../ui/parts.module.css"
import { Failure, Loading } from "../ui/states.tsx"
import { calendar, cutOff } from "./schedule-words.ts"
import styles from "./schedules.module.css"

const WEEKS = 4
/** What the server sends at most, of schedules and of times of each. */
const SCHEDULES = 200
const TIMES = 100
const DAY = 86_400_000
/** Of a schedule that fires often, and how many of those are asked for. */
const MORE_TIMES = 1_000
const MAX_OFTEN = 20
/** Schedules that a day names; the list has all. */
const MAX_SHOWN = 12
const NAMES = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"]

/** The last midnight of the calendar. */
function endOf(now: number): number {
  return Date.parse(`${calendar([], now, WEEKS).at(-1)?.date}T00:00`) + DAY
}

export function Calendar({ onOpen }: { readonly onOpen: (id: string) => void }) {
  const { data, isError, error, refetch } = useQuery({
    queryKey: ["schedules", "calendar"],
    queryFn: async ({ signal }) => {
      const query = { limit: SCHEDULES, next: TIMES }
      const { schedules } = (await client.request("GET /v1/schedules", { query, signal })).data
      // Those that fire often need more times than a list has.
      const often = new Set(
        cutOff(schedules, TIMES, endOf(Date.now()))
          .slice(0, MAX_OFTEN)
          .map(({ id }) => id),
      )
      return await Promise.all(
        schedules.map(async (one) => {
          if (!often.has(one.id)) return one
          const input = { path: { schedule: one.id }, query: { next: MORE_TIMES }, signal }
          return (await client.request("GET /v1/schedules/{schedule}", input)).data
        }),
      )
    },
    refetchInterval: 60_000,
  })
  if (isError && data === undefined) return <Failure error={error} retry={() => void refetch()} />
  if (data === undefined) return <Loading lines={12} />
  const now = Date.now()
  const days = calendar(data, now, WEEKS)
  const short = cutOff(data, TIMES, endOf(now))
  return (
    <div className={styles.calendar} role="region" aria-label="Coming fires" tabIndex={0}>
      <div className={styles.weekdays} aria-hidden="true">
        {NAMES.map((name) => (
          <span key={name}>{name}</span>
        ))}
      </div>
      <ol className={styles.days}>
        {days.map(({ date, isToday, isPast, entries }, i) => (
          <li
            key={date}
            className={styles.day}
            data-today={isToday || undefined}
            data-past={isPast || undefined}
            data-empty={entries.length === 0 || undefined}
          >
            <h2>
              {isToday && "Today, "}
              <span className={styles.weekday}>{NAMES[i % 7]} </span>
              {date.slice(5)}
            </h2>
            <ul>
              {entries.slice(0, MAX_SHOWN).map(({ schedule: { id, workflow }, at, times }) => (
                <li key={id}>
                  <button
                    type="button"
                    className={styles.fire}
                    title={`${id} starts ${workflow}, first ${exact(at)}`}
                    onClick={() => onOpen(id)}
                  >
                    <time dateTime={new Date(at).toISOString()}>{clock(at).slice(0, 5)}</time>
                    <span>{id}</span>
                    {times > 1 && <span className={parts.calm}>×{times}</span>}
                  </button>
                </li>
              ))}
              {entries.length > MAX_SHOWN && (
                <li className={styles.rest}>and {count(entries.length - MAX_SHOWN)} more</li>
              )}
            </ul>
          </li>
        ))}
      </ol>
      <p className={parts.calm}>
        In the time zone of this browser.
        {short.length > 0 && ` The next ${TIMES} times only, of ${short.map(({ id }) => id).join(", ")}.`}
      </p>
    </div>
  )
}
