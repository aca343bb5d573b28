import type { Attack } from '../attack.js';
import { TUBES, type AttackLab } from '../lab.js';
import { atMost, atLeast } from '../../experiment.js';
import { commandsFor, type Hand } from '../attacker.js';

const TUBE = TUBES[0];
/** Milliseconds that a copy may be held without a touch. */
const TTR = 60_000;

/**
 * Takes copies on one node and holds them, touched, to the end; buries and kicks on another; pauses the tube on the third; and deletes what
 * waits on the first. At the end it lets go what it holds; in the full version, on the other nodes, beanstalkd takes it away.
 */
export const stall: Attack = {
  number: 7,
  name: 'stall',
  what: 'copies reserved and held, touched, buried, kicked, deleted on one node; a tube paused',
  passes: 'nothing is lost or early; no job is later than the end of the pause or of the hold, and the lease',
  jobs: 3_000,
  smallJobs: 240,
  async run(lab) {
    await lab.startApplication();
    const { attacker, times } = lab;
    const pauseFor = lab.pick(2, 20);
    const holding = [0, 1, 2].map((node) => holdSome(lab, node, lab.pick(4, 40)));
    await lab.until(times.at(0.1));
    const doomed = (await lab.waitingCopies()).filter(({ node, tube, state }) => {
      return node === 0 && tube === TUBE && state === 'delayed';
    });
    const answers = await attacker.ask(
      0,
      commandsFor(
        'delete',
        doomed.map(({ id }) => id),
      ),
    );
    const deleted = answers.filter((answer) => answer === 'DELETED').length;
    const kicked = Array.from({ length: 20 }, () => 'kick 1000');
    await attacker.ask(1, kicked, TUBE);
    await attacker.ask(2, [`pause-tube ${TUBE} ${pauseFor}`]);
    await lab.until(times.at(0.6));
    await attacker.ask(1, [...kicked, `pause-tube ${TUBE} ${pauseFor}`], TUBE);
    const hands = await Promise.all(holding);
    for (const at of [0.7, 0.8, 0.9]) {
      await lab.until(times.at(at));
      await Promise.all(hands.map(({ hand, ids }) => hand.tell(...commandsFor('touch', ids))));
    }
    await lab.until(times.end);
    for (const { hand } of lab.pick(hands, hands.slice(0, 1))) hand.close();
    const held = hands.reduce((sum, { ids }) => sum + ids.length, 0);
    await lab.allRan();
    const { worstLateness } = lab.findings();
    const heldFor = times.end - times.begin + lab.pick(0, TTR);
    return {
      checks: [
        atLeast('copies that the attacker deleted', deleted, 1),
        atLeast('copies that the attacker held', held, 1),
        atMost('worst lateness', worstLateness, heldFor + lab.lease + 10_000, ' ms'),
      ],
      notes: [`the attacker deleted ${deleted} copies, and held ${held}`],
    };
  },
};

/** Takes copies of the tube as they come due: some it buries, the others it holds. */
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
    if (tries % 4 === 0) await hand.tell(`bury ${copy.id} 0`);
    else ids.push(copy.id);
  }
  return { hand, ids };
}
