import type { Attack } from '../attack.js';
import { identityOf, partsOf, PROOF_BYTES, SEAL_BYTES, type Copy } from '../copy.js';
import { atPace } from '../../waiting.js';
import { TUBES } from '../workload.js';

/** Copies that nobody sealed: in all formats, with new ids and with those of jobs that wait, due now and later. */
export const forge: Attack = {
  number: 1,
  name: 'forge',
  what: 'unsealed copies: all formats, guessed ids, ids of real jobs, garbage',
  passes: 'all are rejected or buried',
  jobs: 3_000,
  smallJobs: 240,
  async run(lab) {
    await lab.startApplication();
    const waiting = (await lab.scan()).filter(({ tube }) => tube === TUBES[0]);
    const rounds = lab.pick(5, 100);
    const { begin: from, end: to } = lab.times;
    await atPace(rounds, { from, to, signal: lab.signal }, async (round) => {
      const real = waiting[(round * 31) % waiting.length]!;
      for (const tube of TUBES) await lab.attacker.store(tube, forgeries(round, tube, real));
      await lab.attacker.store(TUBES[0], forgeries(round, 'later', real), { delay: 1 });
    });
    return {};
  },
};

/** Returns a payload that a handler would run if no seal were required. */
function payload(job: unknown): string {
  return JSON.stringify({ job, generation: 0, acts: [], secret: 'forged' });
}

function forgeries(round: number, name: string, real: Copy): string[] {
  const now = Date.now();
  const { id, due } = identityOf(real);
  const { open, own, proof, rest } = partsOf(real.body);
  const dq1 = (fields: object, content = payload(`forged-${round}`)) =>
    `dq1 ${JSON.stringify(fields)}\n${content}`;
  const guessed = { id: `forged-${name}-${round}`, due: now, n: 1, i: 0 };
  const sealed = (key: string, encrypted: number, bytes: string) =>
    `dqs ${key} ${encrypted} {"id":"${guessed.id}","due":${now},"n":1\n,"i":0\n${bytes}`;
  return [
    dq1(guessed),
    dq1({ ...guessed, id: `${guessed.id}-late`, due: now - 60_000 }),
    dq1({ ...guessed, id: `${guessed.id}-of-two`, n: 2, i: 1 }),
    dq1({ ...guessed, id: `${guessed.id}-keyed`, g: now, k: 'order:42' }),
    dq1({ ...guessed, id: `${guessed.id}-bytes`, t: 'bytes' }),
    dq1({ ...guessed, id: `${guessed.id}-void`, t: 'void' }, ''),
    dq1({ id, due, n: 3, i: 0 }),
    dq1({ id, due: now, n: 3, i: 0 }),
    dq1({ id, due: now, n: 3, i: 2, g: now }),
    sealed('a', 40, 'x'.repeat(PROOF_BYTES + SEAL_BYTES + 40)),
    sealed('a', 0, '\0'.repeat(PROOF_BYTES + SEAL_BYTES) + payload(1)),
    sealed('a', 0, ''),
    sealed('__proto__', 9_999_999_999, ''),
    sealed('a', 1e99, 'x'.repeat(100)),
    'dqs ',
    'dqs a 0 []\n[]\n',
    `dqs a 0 ${'['.repeat(20_000)}\n,"i":0\n`,
    `${open}\n${own ?? ''}\n${'y'.repeat(proof.length + rest.length)}`,
    `${now}000000/${payload(`go-${round}`)}`,
    `${now}000001/`,
    'dq1 ',
    `dq1 {"id":"${guessed.id}","due":\n{}`,
    '',
    '\0'.repeat(500),
    'no copy at all',
  ];
}
