import { expect, it } from '@jest/globals';
import { shortened } from './shortened.js';

it.each([
  ['as long as it may be', 'order.unpaid', 'order.unpaid'],
  ['longer: both ends stay', 'order.unpaid.reminder', 'order.…inder'],
  ['with letters of two units', '🙂🙂🙂🙂🙂🙂🙂🙂🙂🙂🙂🙂🙂', '🙂🙂🙂🙂🙂🙂…🙂🙂🙂🙂🙂'],
])('a name %s', (_, name, text) => {
  expect(shortened(name, 12)).toBe(text);
});
