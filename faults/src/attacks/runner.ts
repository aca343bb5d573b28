import { outcomeIn, type Ending, type RunSettings } from '../ending.js';
import { orNull } from '../runner.js';
import { seconds, Table, type Column } from '../table.js';
import type { Attack } from './attack.js';
import { judge } from './checker.js';
import { AttackLab, type AttackSettings } from './lab.js';

/** The result of an attack: a row of the table, and a line of `--json`. */
export interface AttackRow extends Ending {
  readonly number: number;
  readonly name: string;
  readonly jobs: number;
  /** Copies that the attacker stored. */
  readonly stored: number;
  readonly refused: number;
  /** Runs with a payload that the application did not schedule in that tube. */
  readonly forged: number;
  /** Copies and commands to Redis that showed a secret. */
  readonly readable: number;
  /** Copies of others that were deleted or changed. */
  readonly victimsGone: number;
  readonly lost: number;
  readonly early: number;
  readonly duplicates: number;
  /** Runs after a revoke, or of an old schedule. */
  readonly voidRuns: number;
  /** Milliseconds. Null: nothing was run. */
  readonly worstLateness: number | null;
}

const COLUMNS: readonly Column<AttackRow>[] = [
  { title: ['', 'jobs'], width: 6, cell: ({ jobs }) => String(jobs) },
  { title: ['attacker', 'stored'], width: 8, cell: ({ stored }) => String(stored) },
  { title: ['', 'refused'], width: 7, cell: ({ refused }) => String(refused) },
  { title: ['forged', 'runs'], width: 6, cell: ({ forged }) => String(forged) },
  { title: ['secrets', 'read'], width: 7, cell: ({ readable }) => String(readable) },
  { title: ['victims', 'gone'], width: 7, cell: ({ victimsGone }) => String(victimsGone) },
  { title: ['', 'lost'], width: 5, cell: ({ lost }) => String(lost) },
  { title: ['', 'early'], width: 5, cell: ({ early }) => String(early) },
  { title: ['dupli-', 'cates'], width: 6, cell: ({ duplicates }) => String(duplicates) },
  { title: ['void', 'runs'], width: 5, cell: ({ voidRuns }) => String(voidRuns) },
  { title: ['worst', 'lateness'], width: 8, cell: ({ worstLateness }) => seconds(worstLateness) },
  { title: ['', 'passed'], width: 6, cell: ({ passed }) => (passed ? 'yes' : 'NO') },
];

export const attackTable = new Table(COLUMNS);

/** Rejects only if the user ended it. */
export async function runAttack(
  attack: Attack,
  { keep, ...settings }: RunSettings & Pick<AttackSettings, 'unsealed'>,
): Promise<AttackRow> {
  const { number, name } = attack;
  const lab = await AttackLab.open({ ...settings, name });
  const none = () => ({
    found: lab.findings(),
    checks: [],
    notes: [],
    counts: { stored: 0, refused: 0, forged: 0, readable: 0, victimsGone: 0 },
  });
  const { found, counts, ending } = await outcomeIn(lab, keep, () => outcomeOf(attack, lab), none);
  return {
    number,
    name,
    jobs: found.jobs,
    ...counts,
    lost: found.lost.length,
    early: found.early.length,
    duplicates: found.duplicates.length,
    voidRuns: found.ranAfterRevoke.length + found.wrongGeneration.length,
    worstLateness: orNull(found.worstLateness),
    ...ending,
  };
}

async function outcomeOf(attack: Attack, lab: AttackLab) {
  const attacked = await attack.run(lab);
  const { allows = {}, notes = [] } = attacked;
  const evidence = await lab.evidence(allows);
  const { forged, readable, victimsGone, checks } = judge(evidence, allows);
  return {
    found: evidence.found,
    counts: { stored: lab.attacker.stored, refused: evidence.refused, forged, readable, victimsGone },
    checks: [...checks, ...(attacked.checks ?? [])],
    notes,
  };
}
