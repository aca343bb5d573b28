import type { Arguments, Flags } from 'nest-handlers/cli';

/** Flags of a list that is shown page by page. */
export const PAGE_FLAGS = {
  limit: { value: 'N', help: 'max number shown (default 50, at most 1000)' },
  cursor: { value: 'CURSOR', help: 'continue where the previous page ended' },
} satisfies Flags;

export function pageOf(args: Arguments): { limit: number | undefined; cursor: string | undefined } {
  return {
    limit: args.count('limit', 1, 1_000),
    cursor: args.text('cursor', 'the cursor of the previous page'),
  };
}
