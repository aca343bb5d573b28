import { applyDecorators } from '@nestjs/common';
import { Transform } from 'class-transformer';
import { Length } from 'class-validator';

/** A text of 1 to 100 characters; spaces around it are cut off first. */
export const Text = () =>
  applyDecorators(
    Transform(({ value }: { value: unknown }) => (typeof value === 'string' ? value.trim() : value)),
    Length(1, 100, { message: '$property must be a string of 1 to 100 characters' }),
  );
