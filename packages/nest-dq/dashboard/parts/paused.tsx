import type { TubeWire } from '../../src/dashboard/wire.js';
import { t } from '../words/language.js';
import { time } from '../words/say.js';
import { Badge } from './badge.js';

/** That a tube is paused, and until when; nothing if it is not. */
export function Paused({ paused }: Pick<TubeWire, 'paused'>) {
  if (!paused) return null;
  const { until } = paused;
  return (
    <Badge tone="warn">
      {until === undefined ? t('tube.paused') : t('tube.pausedTill', { time: time(Date.parse(until)) })}
    </Badge>
  );
}
