import type { Attack } from '../attack.js';
import { isPrimary, PROOF_BYTES, withDue, withFlippedBit, type Copy } from '../copy.js';
import { storeEvenly } from '../evenly.js';
import type { AttackLab } from '../lab.js';
import { TUBES } from '../workload.js';

const TUBE = TUBES[0];
/** The proof of a copy: what follows its second line. */
const PROOF = /(?<=^[^\n]*\n[^\n]*\n)[^]{16}/;
/** The fields of a header, and what the attacker writes there. */
const FIELDS: readonly (readonly [field: RegExp, text: string])[] = [
  [/"id":"[^"]+"/, '"id":"another"'],
  [/"n":\d+/, '"n":1'],
  [/"n":\d+/, '"n":31'],
  [/^dqs \S+/, 'dqs another'],
  [/^dqs a \d+/, 'dqs a 0'],
  [/^dqs a \d+/, 'dqs a 16'],
  [/"i":\d+/, '"i":0'],
  [/"i":\d+/, '"i":1'],
  [/"i":\d+/, '"i":2'],
  [PROOF, ''],
  [PROOF, '\0'.repeat(PROOF_BYTES)],
  [/,"l":\[\[.*?\]\]/, ''],
  [/"due":/, '"p":0,"due":'],
  [/"due":/, '"a":99,"due":'],
  [/"due":/, '"g":99,"due":'],
  [/\{/, '{ '],
  [/\n/, ' \n'],
];

/** Copies as the attacker has read them, each with one change, due now or at their time. */
export const alter: Attack = {
  number: 2,
  name: 'alter',
  what: 'copies read (peek, reserve) and stored with one change: each byte, each field, each length',
  passes: 'all are rejected or buried',
  jobs: 3_000,
  smallJobs: 240,
  async run(lab) {
    await lab.startApplication();
    const victims = lab.victimsIn(TUBE);
    const [primary, backup] = [true, false].map((is) => victims.find((copy) => isPrimary(copy) === is)!);
    const reserved = await takenCopy(lab);
    const bodies = [primary!, backup!, reserved].flatMap((copy) => altered(copy, lab.pick(23, 1)));
    await storeEvenly(lab, TUBE, bodies, (part) => ({ node: part % lab.attacker.nodeCount }));
    return { notes: [`${bodies.length} changes of copies of ${primary!.body.length} bytes`] };
  },
};

/** Takes a copy in the place of the application when it comes due, reads it, and hands it back. */
async function takenCopy({ attacker }: AttackLab): Promise<Copy> {
  const hand = await attacker.hand(0, TUBE);
  try {
    const copy = await hand.take(60);
    if (!copy) throw new Error('the attacker got no copy within a minute');
    await hand.tell(`release ${copy.id} 0 0`);
    return copy;
  } finally {
    hand.close();
  }
}

/** Every `step`-th byte and length, and all fields. */
function altered({ body }: Copy, step: number): string[] {
  const due = Date.now();
  const bodies = [withDue(body, due), withDue(body, 1), `${body}x`, `${body}\n`, body + body];
  for (const [field, text] of FIELDS) {
    const changed = body.replace(field, () => text);
    if (changed !== body) bodies.push(changed);
  }
  for (let at = 0; at < body.length; at += step) {
    bodies.push(withFlippedBit(body, at));
    if (at >= 'dqs '.length) bodies.push(body.slice(0, at));
  }
  return bodies;
}
