import { basename } from 'node:path';
import type { NamedTest, Rule } from './rule.js';

const INTRODUCTION = `# The proofs

<!-- Made by \`npm run proofs\` from the lists in test/rules. -->

\`\`\`
npm run rules                     # all, takes some minutes
npm run rules -- --only fence     # those with this string in the rule, the file or the test
\`\`\`

\`npm run rules\` removes one rule at a time from the source as it is transformed for the tests, so that no file changes. Then it
runs the test next to the rule, which must fail. A rule that is kept in more than one place, such as in the memory ledger and in a
Lua script, is removed from each place separately. The command fails if a test still passes.
`;

/** The text of docs/proofs.md, as oxfmt formats it. */
export function proofsPage(rules: readonly Rule[]): string {
  const rows = rules.flatMap(({ rule, mutants }) => {
    const tests = new Set(mutants.map(({ test }) => cellOf(test)));
    return [...tests].map((test, i) => [i === 0 ? rule : '', test] as const);
  });
  const table = [['the rule', 'fails without it'] as const, ...rows];
  const widths = [0, 1].map((column) => Math.max(...table.map((row) => row[column]!.length)));
  const line = (cells: readonly string[]) =>
    `| ${cells.map((cell, column) => cell.padEnd(widths[column]!)).join(' | ')} |\n`;
  const [head, ...body] = table.map(line);
  const dashes = line(widths.map((width) => '-'.repeat(width)));
  return `${INTRODUCTION}\n${head}${dashes}${body.join('')}`;
}

function cellOf({ spec, title }: NamedTest): string {
  return `\`${basename(spec)}\`: ${title.replace(/%[a-z]/g, '…')}`;
}
