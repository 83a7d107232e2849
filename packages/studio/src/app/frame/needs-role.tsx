/** Why controls are disabled, in words: shown only to those whose role may not use them. */
import { type Role, useMay, useMe } from "../api/queries.ts"

interface NeedsRoleProps {
  readonly needs: Role
  /** What it takes the role for, such as "change schedules". */
  readonly to: string
  readonly className?: string | undefined
}

export function NeedsRole({ needs, to, className }: NeedsRoleProps) {
  const { data: me } = useMe()
  const may = useMay(needs)
  if (me === undefined || may) return null
  return (
    <p className={className} role="note">
      {reason(me.role, needs, to)}
    </p>
  )
}

function reason(own: Role, needed: Role, to: string): string {
  return `Your role is ${own}. To ${to} you need the role ${needed}.`
}
