import type { Attack } from '../attack.js';
import type { AttackLab } from '../lab.js';
import { atMost, atLeast } from '../../experiment.js';
import { commandsFor, type Hand } from '../attacker.js';
import { TUBES } from '../workload.js';

const TUBE = TUBES[0];
/** The node on which it deletes and buries. */
const CUT_OFF = 0;
/** The node on which it says nothing more of what it holds. */
const SILENT = 1;

/**
 * Takes copies on all nodes and holds them: on two nodes touched to the end of the window, and on one until all jobs ran. Meanwhile it
 * kicks, pauses the tube, and deletes or buries copies on one node only: so one copy of each job is left at last.
 */
export const stall: Attack = {
  number: 7,
  name: 'stall',
  what: 'copies reserved and held on all nodes, touched, kicked, deleted and buried on one; a tube paused',
  passes: 'nothing is lost or early; no job is later than the end of the pause or hold, plus the lease',
  jobs: 3_000,
  smallJobs: 240,
  async run(lab) {
    await lab.startApplication();
    const { attacker, times } = lab;
    const pauseFor = lab.pick(2, 20);
    const holding = [0, 1, 2].map((node) => holdSome(lab, node, lab.pick(4, 40)));
    await lab.until(times.at(0.1));
    const doomed = (await lab.waitingCopies()).filter(({ node, tube, state }) => {
      return node === CUT_OFF && tube === TUBE && state === 'delayed';
    });
    const ids = doomed.map(({ id }) => id);
    const answers = await attacker.ask(CUT_OFF, commandsFor('delete', ids));
    const deleted = answers.filter((answer) => answer === 'DELETED').length;
    const kicked = Array.from({ length: 20 }, () => 'kick 1000');
    await attacker.ask(1, kicked, TUBE);
    await attacker.ask(2, [`pause-tube ${TUBE} ${pauseFor}`]);
    await lab.until(times.at(0.6));
    await attacker.ask(1, [...kicked, `pause-tube ${TUBE} ${pauseFor}`], TUBE);
    const hands = await Promise.all(holding);
    const touched = hands.filter((_, node) => node !== SILENT);
    for (const at of [0.7, 0.8, 0.9]) {
      await lab.until(times.at(at));
      for (const { hand, ids } of touched) await hand.tell(...commandsFor('touch', ids));
    }
    await lab.until(times.end);
    for (const { hand } of touched) hand.close();
    const held = hands.reduce((sum, { ids }) => sum + ids.length, 0);
    await lab.allRan();
    hands[SILENT]!.hand.close(); // as beanstalkd forgets that its time is over
    const { worstLateness } = lab.findings();
    return {
      checks: [
        atLeast('copies deleted by the attacker', deleted, 1),
        atLeast('copies held by the attacker', held, 1),
        atMost('worst lateness', worstLateness, times.end - times.begin + lab.lease + 10_000, ' ms'),
      ],
      notes: [`the attacker deleted ${deleted} copies and held ${held}`],
    };
  },
};

/** Takes copies of the tube as they come due, and holds them, but for some that it buries. */
async function holdSome(
  { attacker, signal }: AttackLab,
  node: number,
  count: number,
): Promise<{ readonly hand: Hand; readonly ids: readonly string[] }> {
  const hand = await attacker.hand(node, TUBE);
  const ids: string[] = [];
  for (let tries = 0; tries < 2 * count && ids.length < count; tries++) {
    signal.throwIfAborted();
    const copy = await hand.take(1);
    if (!copy) continue;
    if (node === CUT_OFF && tries % 4 === 0) await hand.tell(`bury ${copy.id} 0`);
    else ids.push(copy.id);
  }
  return { hand, ids };
}
