import { IsEmail } from 'class-validator';
import { Text } from '../common/text.decorator.js';

export class CreateResourceDto {
  @Text()
  name!: string;

  @IsEmail()
  owner!: string;
}
