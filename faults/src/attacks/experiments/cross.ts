import { randomBytes } from 'node:crypto';
import type { DqOptions } from 'nest-dq';
import { startBeanstalkd } from 'test-servers';
import type { Attack } from '../attack.js';
import { Attacker } from '../attacker.js';
import { bodyOf, identityOf, partsOf, SEAL_BYTES, type Copy } from '../copy.js';
import { storeEvenly } from '../evenly.js';
import { OTHER_PREFIX, type AttackLab } from '../lab.js';
import { TUBES } from '../workload.js';

const [TUBE, ANOTHER] = TUBES;

/** Copies that are right somewhere else: in another tube, under another prefix, with another key or context; and parts of several copies in one. */
export const cross: Attack = {
  number: 4,
  name: 'cross',
  what: 'copies moved to another tube, prefix, key or context; parts of several copies combined',
  passes: 'all are rejected',
  jobs: 3_000,
  smallJobs: 240,
  async run(lab) {
    await lab.startApplication();
    const otherKey = await fromAnotherCluster(lab, 1, lab.sealWith(randomBytes(32).toString('base64')));
    const otherContext = await fromAnotherCluster(lab, 2, lab.sealWith(undefined, { context: 'staging' }));
    const [own, others] = [lab.victimsIn(TUBE), lab.victimsIn(ANOTHER)];
    const waiting = (await lab.waitingCopies()).filter(({ tube }) => tube === ANOTHER);
    const moved = [
      ...others,
      ...waiting,
      ...lab.victimsIn(OTHER_PREFIX + TUBE),
      ...otherKey,
      ...otherContext,
    ];
    const bodies = [...moved.map(({ body }) => body), ...mixed(own), ...mixed([...own, ...others])];
    await storeEvenly(lab, TUBE, bodies);
    return {};
  },
};

/** Copies for the same tube, sealed in another cluster. `database`: of its own in Redis. */
async function fromAnotherCluster(lab: AttackLab, database: number, seal: DqOptions): Promise<Copy[]> {
  const node = await lab.owned(startBeanstalkd());
  const reader = await lab.owned(new Attacker([node], lab.signal));
  const options = {
    beanstalks: [node.endpoint],
    replicas: 1,
    minWritten: 1,
    redis: `${lab.redisUrl}/${database}`,
  };
  await lab.startOther({ ...options, ...seal }, TUBE);
  return reader.scan();
}

/** Returns the bodies that can be combined from the parts of these copies, without the copies themselves. */
function mixed(copies: readonly Copy[]): string[] {
  const known = new Set(copies.map(({ body }) => body));
  const made = new Set<string>();
  for (const a of copies) {
    for (const b of copies) {
      const [partsA, partsB] = [partsOf(a.body), partsOf(b.body)];
      made.add(bodyOf({ ...partsA, rest: partsB.rest }));
      made.add(bodyOf({ ...partsA, open: partsB.open }));
      made.add(bodyOf({ ...partsA, own: partsB.own }));
      const seal = partsA.rest.slice(0, SEAL_BYTES) + partsB.rest.slice(SEAL_BYTES);
      made.add(bodyOf({ ...partsA, rest: seal }));
      made.add(bodyOf({ ...partsA, proof: partsB.proof }));
      made.add(bodyOf({ ...partsA, own: partsB.own, proof: partsB.proof }));
    }
  }
  return [...made].filter((body) => !known.has(body) && !isOfOneJob(body, copies));
}

/** Returns whether this body equals a copy. All copies of a job share all but their own fields, so recombining them may yield one. */
function isOfOneJob(body: string, copies: readonly Copy[]): boolean {
  const { open, own, proof, rest } = partsOf(body);
  const { id } = identityOf({ body });
  return copies.some((copy) => {
    const parts = partsOf(copy.body);
    const isSame = parts.own === own && parts.proof === proof && parts.open === open && parts.rest === rest;
    return identityOf(copy).id === id && isSame;
  });
}
